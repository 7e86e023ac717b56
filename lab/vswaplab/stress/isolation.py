# SPDX-License-Identifier: GPL-2.0
"""What a group gets done beside each neighbour, from a report of "vswap bench isolation"."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vswaplab.bench.document import read_json
from vswaplab.errors import UsageError

FEWEST, LONGEST = 0.9, 1.1  # of mainline's touches a second, and of its 99th percentile
SUITES = ("isolation", "isolation-full")


@dataclass(frozen=True)
class Beside:
    """Of one neighbour in one set-up: touches a second and 99th percentile in µs; None where none was measured."""

    setup: str
    neighbour: str
    mainline: tuple[float | None, float | None]
    ours: tuple[float | None, float | None]

    @property
    def ratios(self) -> tuple[float | None, float | None]:
        """Ours by mainline's."""
        touches, p99 = (b / a if a and b else None for a, b in zip(self.mainline, self.ours, strict=True))
        return touches, p99

    @property
    def good(self) -> bool:
        """Whether both were measured and are within the limits."""
        touches, p99 = self.ratios
        return touches is not None and p99 is not None and touches >= FEWEST and p99 <= LONGEST


@dataclass(frozen=True)
class Isolation:
    """A whole report; ``kernel`` is the checksum of our sources."""

    kernel: str
    date: str
    rows: tuple[Beside, ...]


def _of(kernels: Mapping[str, Any], name: str) -> float | None:
    found: float | None = kernels[name]["median"] if kernels[name]["status"] == "ok" else None
    return found


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
            Beside(*case, *((_of(by["touches"], name), _of(by["p99"], name)) for name in ("mainline", "vswap")))
            for case, by in found.items()
        ]
        kernel, date = content["kernels"]["vswap"]["sources_sha256"][:12], content["date"][:10]
    except (KeyError, TypeError) as error:
        raise UsageError(f"{path} is no report of isolation on mainline and vswap: no {error}") from error
    if not rows:
        raise UsageError(f"{path} has no results of the suite isolation")
    return Isolation(kernel, date, tuple(rows))
