# SPDX-License-Identifier: GPL-2.0
"""What a group gets done beside each neighbour, from a report of "vswap bench isolation"."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vswaplab.bench.document import read_json
from vswaplab.errors import UsageError

FEWEST, LONGEST = 0.9, 1.1  # of mainline's touches a second, and of its slowest touches
FIGURES = ("touches", "slowest", "p99")
Figures = tuple[float | None, float | None, float | None]
Runs = tuple[float, ...]
SUITES = ("isolation", "isolation-full")


@dataclass(frozen=True)
class Beside:
    """Of one neighbour in one set-up; None where none was measured.

    Touches a second, the mean of the slowest 5 % of touches and the 99th percentile, both in µs. The mean
    is what is judged: where one touch in a hundred meets reclaim, a percentile is one or the other by chance.
    ``mainline_runs`` and ``our_runs`` are that mean in each run.
    """

    setup: str
    neighbour: str
    mainline: Figures
    ours: Figures
    mainline_runs: Runs = ()
    our_runs: Runs = ()

    @property
    def ratios(self) -> Figures:
        """Ours by mainline's."""
        touches, slowest, p99 = (b / a if a and b else None for a, b in zip(self.mainline, self.ours, strict=True))
        return touches, slowest, p99

    @property
    def good(self) -> bool:
        """Whether what is judged was measured and is within the limits."""
        touches, slowest, _ = self.ratios
        return touches is not None and slowest is not None and touches >= FEWEST and slowest <= LONGEST


@dataclass(frozen=True)
class Isolation:
    """A whole report; ``kernel`` is the checksum of our sources."""

    kernel: str
    date: str
    rows: tuple[Beside, ...]


def _of(by: Mapping[str, Mapping[str, Any]], name: str) -> Figures:
    kernels = (by[figure][name] for figure in FIGURES)
    touches, slowest, p99 = (of["median"] if of["status"] == "ok" else None for of in kernels)
    return touches, slowest, p99


def _runs(by: Mapping[str, Mapping[str, Any]], name: str) -> Runs:
    return tuple(by["slowest"][name]["values"])


def read(path: Path) -> Isolation | None:
    """The report; None if there is no file. Raises UsageError if it is another one."""
    if not path.exists():
        return None
    content = read_json(path)
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in content["results"]:
        figure, _, neighbour = row["metric"].partition(", neighbour: ")
        if row["suite"] in SUITES:
            found.setdefault((row["setup"], neighbour), {})[figure] = row["kernels"]
    try:
        rows = [
            Beside(*case, _of(by, "mainline"), _of(by, "vswap"), _runs(by, "mainline"), _runs(by, "vswap"))
            for case, by in found.items()
        ]
        kernel, date = content["kernels"]["vswap"]["sources_sha256"][:12], content["date"][:10]
    except (KeyError, TypeError) as error:
        raise UsageError(f"{path} is no report of isolation on mainline and vswap: no {error}") from error
    if not rows:
        raise UsageError(f"{path} has no results of the suite isolation")
    return Isolation(kernel, date, tuple(rows))
