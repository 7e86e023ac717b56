# SPDX-License-Identifier: GPL-2.0
"""What tests that others wrote came to, on mainline and with virtual swap: docs/reliability/suites.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import UsageError


@dataclass(frozen=True)
class Outcome:
    """One suite in one set-up.

    ``mainline`` is the number of its tests that pass on mainline, ``both`` of those that pass with
    virtual swap as well, ``more`` of those that pass there only; ``lost`` are the others, and why,
    as far as it is known; ``failed`` are those that fail on mainline. ``kernel`` is the checksum of the sources.
    """

    suite: str
    setup: str
    mainline: int
    both: int
    more: int
    lost: Mapping[str, str]
    kernel: str
    date: str
    failed: Mapping[str, str]


def read(path: Path) -> list[Outcome]:
    """The outcomes in a file; none if there is no file. Raises UsageError if it is another one."""
    try:
        return [Outcome(**fields) for fields in json.loads(path.read_text())] if path.exists() else []
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is no list of outcomes: {error}") from error


def summed(rows: Sequence[Outcome]) -> tuple[str, int, str, str]:
    """What one suite came to on one kernel, how many tests virtual swap lost, the kernel, and the newest date."""
    setups = f"{len(rows)} set-up{'' if len(rows) == 1 else 's'}"
    passed = f"{sum(row.both for row in rows):,} of {sum(row.mainline for row in rows):,}"
    lost = sum(len(row.lost) for row in rows)
    return f"{rows[0].suite}: {passed} in {setups}", lost, rows[0].kernel, max(row.date for row in rows)


def reasons(rows: Sequence[Outcome]) -> list[tuple[str, str, str]]:
    """The tests that fail on mainline: suite, name and reason, each once."""
    return sorted({(row.suite, name, why) for row in rows for name, why in row.failed.items()})


def add(path: Path, found: Outcome) -> None:
    """Write it, in place of an older one of the same suite and set-up."""
    with paths.locked(paths.cache_dir() / ".outcomes.lock"):
        others = [one for one in read(path) if (one.suite, one.setup) != (found.suite, found.setup)]
        rows = sorted([*others, found], key=lambda one: (one.suite, one.setup))
        lines = ",\n".join(json.dumps(asdict(one), sort_keys=True) for one in rows)
        paths.write_file(path, f"[\n{lines}\n]\n".encode())
