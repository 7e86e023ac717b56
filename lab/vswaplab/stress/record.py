# SPDX-License-Identifier: GPL-2.0
"""What came of one guest of a trial, as it is kept in docs/reliability/trials/*.json."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vswaplab import paths
from vswaplab.errors import UsageError

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """One guest.

    ``kernel`` is the checksum of the sources, as reports of benchmarks have it. ``seconds`` is the
    script's running time in the guest. ``checks`` is the number of page verifications, ``swapped_out``
    and ``swapped_in`` are pages, ``done`` is what the disturbers did, by name. ``problems`` is empty if
    all went well. ``cause`` is what was found to be behind them, written by hand; empty if not known.
    ``races`` are KCSAN's reports of code that is not virtual swap's, and how often each came.
    """

    trial: str
    seed: int
    arch: str
    flavour: str
    kernel: str
    date: str
    seconds: float
    checks: int = 0
    swapped_out: int = 0
    swapped_in: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    done: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    cause: str = ""
    races: Mapping[str, int] = field(default_factory=dict)


def read(path: Path) -> list[Record]:
    """The records of a file, oldest first. Raises UsageError if it is none."""
    try:
        content = json.loads(path.read_text())
        if content["format"] != FORMAT:
            raise UsageError(f"{path} has format {content['format']}, not {FORMAT}")
        return [Record(**{**fields, "problems": tuple(fields["problems"])}) for fields in content["records"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no list of trials: {error}") from error


def add(path: Path, record: Record) -> None:
    """Add it to the file, beside other processes that do the same. Raises UsageError as read() does."""
    with paths.locked(paths.cache_dir() / ".records.lock"):
        write(path, [*(read(path) if path.exists() else []), record])


def write(path: Path, records: Iterable[Record]) -> None:
    """Write them, one a line, so that git shows what was added."""
    lines = ",\n".join(json.dumps(asdict(record), sort_keys=True) for record in records)
    paths.write_file(path, f'{{"format": {FORMAT}, "records": [\n{lines}\n]}}\n'.encode())


@dataclass(frozen=True)
class Sum:
    """The records of some guests together."""

    guests: int
    seconds: float
    checks: int
    swapped_out: int
    swapped_in: int
    done: Mapping[str, int]
    bad: int  # guests with problems
    races: Mapping[str, int]  # data races elsewhere in the kernel


def added(records: Iterable[Record]) -> Sum:
    """The sum of what was done and verified."""
    found = list(records)
    done: Counter[str] = Counter()
    races: Counter[str] = Counter()
    for record in found:
        done.update(record.done)
        races.update(record.races)
    return Sum(
        len(found), sum(record.seconds for record in found), sum(record.checks for record in found),
        sum(record.swapped_out for record in found), sum(record.swapped_in for record in found), done,
        sum(bool(record.problems) for record in found), races,
    )  # fmt: skip


def problems(killed: bool, disturbed: bool, answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with the answer of the guest's program.

    ``killed``: workers may be killed or get errors. ``disturbed``: something had to be done beside them.
    """
    found = list(answer["errors"])
    if not (answer["checks"] and answer["swapped_out"] and answer["swapped_in"]):
        found.append("nothing was swapped out, read back and verified")
    if disturbed and not any(answer["done"].values()):
        found.append("the disturbers did nothing")
    if answer["mismatches"]:
        found.append(f"{answer['mismatches']} pages had wrong content")
    if not answer["all_ended"]:
        found.append("a worker did not end")
    if answer["left_kb"]:
        found.append(f"{answer['left_kb']} KB in slots that belong to no process")
    others = {end: count for end, count in answer["ends"].items() if end != "verified"}
    if others and not killed:
        found.append(f"workers ended with {others}")
    if found:
        found += answer["notes"]
    return found
