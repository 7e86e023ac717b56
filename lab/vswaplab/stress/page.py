# SPDX-License-Identifier: GPL-2.0
"""docs/reliability.md, made from what docs/reliability has.

trials/*.json    what "vswap stress" recorded
suites.json      what tests of others came to: "vswap test --suite NAME --outcomes FILE"
tests.json       what runs of our own tests came to: "vswap test --tally FILE"
coverage.json    "vswap coverage --json"
found.toml       defects that were found
"""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from vswaplab.coverage.lines import Covered
from vswaplab.errors import UsageError
from vswaplab.stress import outcomes, tally
from vswaplab.stress.record import Record, Sum, added, read
from vswaplab.stress.trial import TRIALS, by_name
from vswaplab.units import format_seconds

PAGE = Path("docs/reliability.md")
DATA = Path("docs/reliability")
RECORDS, FOUND = DATA / "trials", DATA / "found.toml"
SUITES, TESTS, COVERAGE = DATA / "suites.json", DATA / "tests.json", DATA / "coverage.json"
COMMAND = "./vswap report --reliability"


@dataclass(frozen=True)
class Line:
    """The guests of one trial, or on one kernel."""

    name: str
    what: str
    sum: Sum
    time: str

    @property
    def events(self) -> str:
        """What was done, most frequent first."""
        done = sorted(self.sum.done.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {count:,}" for name, count in done) or "-"


def _line(name: str, what: str, records: Sequence[Record]) -> Line:
    total = added(records)
    return Line(name, what, total, format_seconds(total.seconds))


def records(root: Path) -> list[Record]:
    """All records that are committed. Raises UsageError for a file that is none."""
    return [record for path in sorted((root / RECORDS).glob("*.json")) for record in read(path)]


def page(root: Path) -> str:
    """The page. Raises UsageError for a record of a trial that there is not, or a file that is none."""
    found = records(root)
    unknown = {record.trial for record in found if by_name(record.trial) is None}
    if unknown:
        raise UsageError(f"no such trial: {', '.join(sorted(unknown))}")
    loader = jinja2.PackageLoader("vswaplab", "stress/templates")
    environment = jinja2.Environment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, autoescape=False, undefined=jinja2.StrictUndefined
    )
    kernels = sorted({(record.arch, record.flavour) for record in found})
    return environment.get_template("reliability.md").render(
        command=COMMAND,
        total=_line("all", "", found),
        sources=sorted({record.kernel for record in found}),
        trials=[
            _line(trial.name, trial.what, [record for record in found if record.trial == trial.name])
            for trial in TRIALS
        ],
        kernels=[
            _line(f"{arch}, {flavour}", "", [r for r in found if (r.arch, r.flavour) == (arch, flavour)])
            for arch, flavour in kernels
        ],
        bad=[record for record in found if record.problems],
        suites=outcomes.read(root / SUITES),
        tests=[(run, format_seconds(run.seconds)) for run in tally.read(root / TESTS)],
        coverage=_coverage(root / COVERAGE),
        defects=tomllib.loads((root / FOUND).read_text())["defect"],
    )


def _coverage(path: Path) -> dict[str, Any] | None:
    """What "vswap coverage --json" wrote; None if there is nothing."""
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text())
    files = [Covered(name, file["lines"], tuple(file["missed"])) for name, file in found["files"].items()]
    return {**found, "files": files}


def outdated(root: Path) -> bool:
    """Whether the page is not what the records say."""
    path = root / PAGE
    return not path.is_file() or path.read_text() != page(root)
