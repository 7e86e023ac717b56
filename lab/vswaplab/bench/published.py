# SPDX-License-Identifier: GPL-2.0
"""Figures that others have posted to the kernel's mailing lists, to stand beside those of the same work here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vswaplab.bench.case import Case

NOTE = (
    "Published ratios are theirs over their own base, on other and far larger machines: a ratio can be compared"
    " with ours, their figures cannot."
)


@dataclass(frozen=True)
class Published:
    """One figure of a posting, in the metric's unit; some ratios were posted without the figures."""

    source: str
    date: str  # of the posting, "" if it is not known
    ratio: float  # to their base
    base: float | None = None
    value: float | None = None

    @property
    def label(self) -> str:
        """Whose it is, and of when."""
        return f"{self.source}, {self.date}" if self.date else self.source


@dataclass(frozen=True)
class Posting:
    """What one posting says of a suite's work, and in which cases that is the same work.

    ``figures`` has (their base's, theirs) by metric, or the ratio alone. MGLRU None in a case is the default of
    the lab's kernels: on.
    """

    source: str
    setups: Sequence[str]
    pressure: str
    figures: Mapping[str, tuple[float, float] | float]
    date: str = ""
    mglru: bool | None = None  # None: not said
    page_cluster: int | None = None

    def fits(self, case: Case) -> bool:
        """Whether it may stand beside this case."""
        return (
            case.setup in self.setups
            and case.pressure == self.pressure
            and (self.mglru is None or case.mglru in (None, self.mglru))
            and self.page_cluster in (None, case.page_cluster)
        )

    def of(self, metric: str) -> Published | None:
        """Its figure of a metric, if it has one."""
        found = self.figures.get(metric)
        if found is None:
            return None
        if isinstance(found, tuple):
            base, value = found
            return Published(self.source, self.date, value / base, base, value)
        return Published(self.source, self.date, found)
