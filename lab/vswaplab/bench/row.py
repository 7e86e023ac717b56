# SPDX-License-Identifier: GPL-2.0
"""A row of the results: one metric of one case, with every kernel's figures and how they compare."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from vswaplab.bench.published import Published


@dataclass(frozen=True)
class Entry:
    """A kernel's figures of the metric, and what went wrong."""

    n: int
    mean: float | None
    stdev: float | None
    median: float | None
    status: str
    failures: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True)
class Comparison:
    """A kernel against the one that is compared with; ``verdict`` takes all comparisons of a report."""

    ratio: float | None = None
    ci95: Sequence[float] | None = None
    p: float | None = None
    p_holm: float | None = None
    verdict: str = "not measured"

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Comparison":
        """Reports of before there were p-values have none."""
        return cls(found["ratio"], found["ci95"], found.get("p"), found.get("p_holm"), found["verdict"])


@dataclass
class Row:
    """``compared`` is the comparison of ``other`` with ``base``; judge() sets it, and all verdicts."""

    suite: str
    setup: str
    pressure: str
    metric: str
    unit: str
    lower_is_better: bool
    kernels: Mapping[str, Entry]
    ratios: dict[str, Comparison]
    base: str
    other: str | None
    deterministic: bool
    status: str
    published: Sequence[Published]
    options: Mapping[str, Any]
    vmstat: Mapping[str, Mapping[str, float | None]]
    compared: Comparison = field(default_factory=Comparison)

    def to_json(self) -> dict[str, Any]:
        """The entry of "results" in a document: what is in ``compared`` is the row's own there."""
        fields = asdict(self)
        del fields["compared"]
        return {**fields, **asdict(self.compared)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Row":
        """The row of a document, which may be of before some of it was recorded."""
        return cls(
            row["suite"], row["setup"], row["pressure"], row["metric"], row["unit"], row["lower_is_better"],
            kernels={name: Entry(**entry) for name, entry in row["kernels"].items()},
            ratios={name: Comparison.from_json(found) for name, found in row["ratios"].items()},
            base=row["base"], other=row.get("other"),
            deterministic=row.get("deterministic", row["verdict"] == "one round"), status=row["status"],
            published=[Published(**found) for found in row.get("published", ())],
            options=row["options"], vmstat=row.get("vmstat", {}),
            compared=Comparison.from_json(row),
        )  # fmt: skip
