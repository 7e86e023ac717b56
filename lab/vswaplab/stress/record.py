# SPDX-License-Identifier: GPL-2.0
"""What came of one guest of a trial, as it is kept in docs/reliability/*.json."""

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
    script's running time in the guest. ``checks`` is the number of page verifications, ``done`` what
    the disturbers did, by name. ``problems`` is empty if all went well.
    """

    trial: str
    seed: int
    arch: str
    flavour: str
    kernel: str
    date: str
    seconds: float
    checks: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    done: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read(path: Path) -> list[Record]:
    """The records of a file, oldest first. Raises UsageError if it is none."""
    try:
        content = json.loads(path.read_text())
        if content["format"] != FORMAT:
            raise UsageError(f"{path} has format {content['format']}, not {FORMAT}")
        return [Record(**{**fields, "problems": tuple(fields["problems"])}) for fields in content["records"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no list of trials: {error}") from error


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
    done: Mapping[str, int]
    bad: int  # guests with problems


def added(records: Iterable[Record]) -> Sum:
    """The sum of what was done and verified."""
    found = list(records)
    done: Counter[str] = Counter()
    for record in found:
        done.update(record.done)
    return Sum(
        len(found), sum(record.seconds for record in found), sum(record.checks for record in found), done,
        sum(bool(record.problems) for record in found),
    )  # fmt: skip


def problems(trial_kills: bool, answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with the answer of the guest's program."""
    found = []
    if answer["mismatches"]:
        found.append(f"{answer['mismatches']} pages had wrong content")
    if not answer["all_ended"]:
        found.append("a worker did not end")
    if answer["left_kb"]:
        found.append(f"{answer['left_kb']} KB in slots that belong to no process")
    others = {end: count for end, count in answer["ends"].items() if end != "verified"}
    if others and not trial_kills:
        found.append(f"workers ended with {others}")
    if found:
        found += answer["notes"]
    return found
