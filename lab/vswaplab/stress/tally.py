# SPDX-License-Identifier: GPL-2.0
"""What whole runs of the tests came to: docs/reliability/tests.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import UsageError

FIGURE = "figure: "  # record_property(FIGURE + NAME, NUMBER) of a test: the sum is kept


@dataclass(frozen=True)
class Tally:
    """One run.

    ``tests`` says which, as pytest was told. ``machine`` is what they booted: "x86_64-release", or "as marked",
    when each booted the kernel it asks for. ``pages`` is the number of page verifications of swapcheck in
    the guests. ``lost`` are the names of tests that failed, ``seconds`` is the time of all. ``kernel`` is the
    checksum of the sources. ``figures`` is what else the tests counted, by name. ``cause`` is what was found to
    be behind failures, written by hand; empty if not known.
    """

    tests: str
    machine: str
    passed: int
    skipped: int
    lost: Sequence[str]
    pages: int
    seconds: float
    kernel: str
    date: str
    figures: Mapping[str, int] = field(default_factory=dict)
    cause: str = ""

    @property
    def files(self) -> set[str]:
        """Files and directories all of whose tests were run; none if some were left out."""
        words = [word.removesuffix("/") for word in self.tests.split()]
        left_out = any(word.startswith("-") and word != "--long" for word in words)
        return set() if left_out else {word for word in words if not word.startswith("-")}


def read(path: Path) -> list[Tally]:
    """The runs in a file; none if there is no file. Raises UsageError if it is another one."""
    try:
        return [Tally(**fields) for fields in json.loads(path.read_text())] if path.exists() else []
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path} is no list of runs of tests: {error}") from error


def add(path: Path, run: Tally) -> None:
    """Write it, in place of an older run of the same tests on the same machine."""
    with paths.locked(paths.cache_dir() / ".tallies.lock"):
        others = [one for one in read(path) if (one.tests, one.machine) != (run.tests, run.machine)]
        rows = sorted([*others, run], key=lambda one: (one.tests, one.machine))
        lines = ",\n".join(json.dumps(asdict(one), sort_keys=True) for one in rows)
        paths.write_file(path, f"[\n{lines}\n]\n".encode())
