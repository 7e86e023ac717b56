# SPDX-License-Identifier: GPL-2.0
"""docs/reliability.md, made from what docs/reliability has. What has no file is "no record" there.

trials/*.json    what "vswap stress" recorded
suites.json      what tests of others came to: "vswap test --suite NAME --outcomes FILE"
tests.json       what runs of our own tests came to: "vswap test --tally FILE"
coverage.json    "vswap coverage --json"
uncovered.toml   why lines are never run
isolation.json   "vswap bench isolation --json"
found.toml       defects that were found
"""

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from vswaplab.bench import sources
from vswaplab.coverage.lines import Covered
from vswaplab.errors import UsageError
from vswaplab.stress import isolation, outcomes, tally
from vswaplab.stress.classes import CLASSES, Class
from vswaplab.stress.isolation import Isolation
from vswaplab.stress.outcomes import Outcome
from vswaplab.stress.record import Record, Sum, added, read
from vswaplab.stress.tally import Tally
from vswaplab.stress.trial import TRIALS, by_name
from vswaplab.units import format_seconds

PAGE = Path("docs/reliability.md")
DATA = Path("docs/reliability")
RECORDS, FOUND = DATA / "trials", DATA / "found.toml"
SUITES, TESTS, COVERAGE = DATA / "suites.json", DATA / "tests.json", DATA / "coverage.json"
UNCOVERED, ISOLATION = DATA / "uncovered.toml", DATA / "isolation.json"
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


@dataclass(frozen=True)
class Special:
    """What other files have."""

    suites: Sequence[Outcome]
    coverage: dict[str, Any] | None
    isolation: Isolation | None

    def figures(self, name: str) -> list[tuple[str, int, str, str]]:
        """What ran, how much of it failed, kernel and date."""
        if name == "suites":
            parts = sorted({(row.suite, row.kernel) for row in self.suites})
            return [
                outcomes.summed([row for row in self.suites if (row.suite, row.kernel) == part]) for part in parts
            ]
        if name == "coverage" and (found := self.coverage):
            text = f"{found['own_percent']:.1f} % of `mm/vswap/`, {found['edited_percent']:.1f} % of edited lines"
            return [(text, 0, found["kernel"], found["date"])]
        if name == "isolation" and (report := self.isolation):
            bad = sum(not row.good for row in report.rows)
            return [(f"{len(report.rows)} neighbours", bad, report.kernel, report.date)]
        return []


@dataclass(frozen=True)
class Section:
    """A class, and what there is of it; empty if nothing is recorded."""

    of: Class
    runs: Sequence[tuple[Tally, str]]  # with their times
    trials: Sequence[Line]
    ran: str
    time: str
    pages: int
    bad: int
    defects: int
    counted: Sequence[tuple[str, int]]
    sources: Sequence[str]
    date: str  # of the newest

    @property
    def empty(self) -> bool:
        """Whether there is no record."""
        return not self.ran


def _section(
    of: Class, runs: Sequence[Tally], found: Sequence[Record], special: Special, defects: Sequence[dict[str, str]]
) -> Section:
    runs = [run for run in runs if of.has_run(run)]
    found = [record for record in found if of.has_trial(record)]
    trials = [
        _line(f"{trial.name}, {arch}, {flavour}", trial.what, those)
        for trial in TRIALS
        for arch, flavour in sorted({(record.arch, record.flavour) for record in found})
        if (those := [r for r in found if (r.trial, r.arch, r.flavour) == (trial.name, arch, flavour)])
    ]
    others = special.figures(of.special)
    total, figures = added(found), Counter[str]()
    for run in runs:
        figures.update(run.figures)
    ran = [f"{sum(run.passed + len(run.lost) for run in runs)} tests"] if runs else []
    ran += [f"{total.guests} guests of trials"] if found else []
    ran += [text for text, _, _, _ in others]
    seconds = total.seconds + sum(run.seconds for run in runs)
    dates = [*(run.date for run in runs), *(record.date[:10] for record in found), *(other[3] for other in others)]
    return Section(
        of, [(run, format_seconds(run.seconds)) for run in runs], trials, "; ".join(ran),
        format_seconds(seconds) if seconds else "-", total.checks + sum(run.pages for run in runs),
        total.bad + sum(len(run.lost) for run in runs) + sum(other[1] for other in others),
        sum(defect["by"] in (of.name, *of.found_by) for defect in defects),
        [(name, number) for name in of.counts if (number := total.done.get(name, 0) + figures[name])],
        sorted({one.kernel for part in (runs, found) for one in part} | {other[2] for other in others}),
        max(dates, default=""),
    )  # fmt: skip


def _line(name: str, what: str, records: Sequence[Record]) -> Line:
    total = added(records)
    return Line(name, what, total, format_seconds(total.seconds))


def records(root: Path) -> list[Record]:
    """All records that are committed. Raises UsageError for a file that is none."""
    return [record for path in sorted((root / RECORDS).glob("*.json")) for record in read(path)]


def written(root: Path) -> str:
    """The page, of records of this and other kernels. Raises what page() raises."""
    return page(root, sources.of_lab("vswap")[:12])


def page(root: Path, current: str = "") -> str:
    """The page; ``current`` is the kernel as it is.

    Raises UsageError for a record of a trial that there is not, or a file that is none.
    """
    found = records(root)
    unknown = {record.trial for record in found if by_name(record.trial) is None}
    if unknown:
        raise UsageError(f"no such trial: {', '.join(sorted(unknown))}")
    loader = jinja2.PackageLoader("vswaplab", "stress/templates")
    environment = jinja2.Environment(
        loader=loader, trim_blocks=True, lstrip_blocks=True, autoescape=False, undefined=jinja2.StrictUndefined
    )
    environment.filters["count"] = "{:,}".format
    kernels = sorted({(record.arch, record.flavour, record.kernel) for record in found})
    runs = tally.read(root / TESTS)
    suites = outcomes.read(root / SUITES)
    special = Special(suites, _coverage(root), isolation.read(root / ISOLATION))
    defects = tomllib.loads((root / FOUND).read_text())["defect"]
    return environment.get_template("reliability.md").render(
        command=COMMAND,
        total=_line("all", "", found),
        current=current,
        today=_line(current, "", [record for record in found if record.kernel == current]),
        today_tests=sum(run.pages for run in runs if run.kernel == current),
        pages=sum(record.checks for record in found) + sum(run.pages for run in runs),
        sections=[_section(one, runs, found, special, defects) for one in CLASSES],
        other_runs=[
            (run, format_seconds(run.seconds)) for run in runs if not any(one.has_run(run) for one in CLASSES)
        ],
        trials=[
            _line(trial.name, trial.what, [record for record in found if record.trial == trial.name])
            for trial in TRIALS
        ],
        kernels=[
            _line(", ".join(kernel), "", [r for r in found if (r.arch, r.flavour, r.kernel) == kernel])
            for kernel in kernels
        ],
        bad=[record for record in found if record.problems],
        suites=suites,
        reasons=outcomes.reasons(suites),
        coverage=special.coverage,
        isolation=special.isolation,
        defects=defects,
    )


def _coverage(root: Path) -> dict[str, Any] | None:
    """What "vswap coverage --json" wrote, and the reasons for what it misses; None if there is nothing."""
    path, reasons = root / COVERAGE, root / UNCOVERED
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text())
    files = [Covered(name, file["lines"], tuple(file["missed"])) for name, file in found["files"].items()]
    known = tomllib.loads(reasons.read_text())["uncovered"] if reasons.exists() else []
    why = {one["file"]: one["why"] for one in known}
    if unknown := sorted(why.keys() - {file.name for file in files}):
        raise UsageError(f"{reasons} has what coverage.json does not have: {', '.join(unknown)}")
    return {**found, "files": [(file, why.get(file.name, "")) for file in files]}


def outdated(root: Path) -> bool:
    """Whether the page is not what the records say."""
    path = root / PAGE
    return not path.is_file() or path.read_text() != written(root)
