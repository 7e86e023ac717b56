# SPDX-License-Identifier: GPL-2.0
"""What tests that others wrote came to, on mainline and with virtual swap: docs/reliability/suites.json."""

import json
from collections.abc import Mapping
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


def add(path: Path, found: Outcome) -> None:
    """Write it, in place of an older one of the same suite and set-up."""
    with paths.locked(paths.cache_dir() / ".outcomes.lock"):
        others = [one for one in read(path) if (one.suite, one.setup) != (found.suite, found.setup)]
        rows = sorted([*others, found], key=lambda one: (one.suite, one.setup))
        lines = ",\n".join(json.dumps(asdict(one), sort_keys=True) for one in rows)
        paths.write_file(path, f"[\n{lines}\n]\n".encode())
