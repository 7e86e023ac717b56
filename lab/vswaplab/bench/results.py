# SPDX-License-Identifier: GPL-2.0
"""The outcome of all rounds as rows: what the report shows and what others can read."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from vswaplab.bench import stats, suites
from vswaplab.bench.case import Case, Turn
from vswaplab.bench.judge import compared, digits, judge, six_digits
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.row import Entry, Row
from vswaplab.bench.suite import Metric

_WORST = ("ok", "oom", "timeout", "failed", "lost", "panic")  # later ones are worse


def pair(kernels: Sequence[str]) -> tuple[str, str | None]:
    """(what is compared with, what is compared): mainline and vswap if they are there, else in order."""
    base = "mainline" if "mainline" in kernels else kernels[0]
    others = [name for name in kernels if name != base]
    return base, "vswap" if "vswap" in others else (others[0] if others else None)


TUNED = 0  # the vm.page-cluster whose rows are the headline of a report


def headline(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """(the rows that a report begins with, the others): those of TUNED and of none, if TUNED was measured."""
    values = [row.options.get("page_cluster") for row in rows]
    if TUNED not in values:
        return list(rows), []
    first = [row for row, value in zip(rows, values, strict=True) if value in (None, TUNED)]
    return first, [row for row, value in zip(rows, values, strict=True) if value not in (None, TUNED)]


class CaseResults:
    """All rounds of one case that count, by kernel."""

    def __init__(self, case: Case, rounds: Mapping[Turn, Outcome], kernels: Sequence[str], warmup: int) -> None:
        self.case = case
        self.kernels = kernels
        self.counted: dict[str, list[Outcome]] = {
            name: [o for t, o in rounds.items() if t.case == case and t.kernel == name and t.round >= warmup]
            for name in kernels
        }

    def status(self, kernel: str) -> str:
        """The worst that happened."""
        found = {outcome.status for outcome in self.counted[kernel]}
        return max(found, key=_WORST.index, default="missing")

    def reasons(self, kernel: str) -> list[str]:
        """What was said of failed rounds, each once, with how often."""
        said = [f"{o.status}: {o.reason}" for o in self.counted[kernel] if o.status != "ok"]
        return [f"{text} ({said.count(text)} of {len(self.counted[kernel])})" for text in dict.fromkeys(said)]

    def values(self, kernel: str, metric: str) -> list[float]:
        """The metric's value in each good round."""
        return [o.metrics[metric] for o in self.counted[kernel] if o.status == "ok"]

    def counters(self) -> dict[str, dict[str, float | None]]:
        """The median of each counter over the counted rounds, by kernel."""
        medians: dict[str, dict[str, float | None]] = {}
        for kernel, found in self.counted.items():
            names = dict.fromkeys(name for outcome in found for name in outcome.counters)
            medians[kernel] = {
                name: digits(statistics.median(o.counters[name] for o in found if name in o.counters))
                for name in names
            }
        return medians

    def entry(self, kernel: str, metric: str) -> Entry:
        """A kernel's figures of one metric, and what went wrong."""
        values = self.values(kernel, metric)
        found = stats.summary(values)
        return Entry(
            found.n, digits(found.mean), digits(found.stdev), digits(found.median),
            self.status(kernel), self.reasons(kernel), [six_digits(value) for value in values],
        )  # fmt: skip

    def row(self, metric: Metric) -> Row:
        """The row of one metric; judge() has to add the verdict."""
        base, other = pair(self.kernels)
        below = self.values(base, metric.name)
        suite = suites.find(self.case.suite)
        return Row(
            self.case.suite, self.case.setup_label, self.case.pressure,
            metric.name, metric.unit, metric.lower_is_better,
            kernels={name: self.entry(name, metric.name) for name in self.kernels},
            ratios={
                name: compared(self.values(name, metric.name), below) for name in self.kernels if name != base
            },
            base=base, other=other, deterministic=suite.deterministic,
            status=max((self.status(name) for name in self.kernels), key=rank),
            published=suite.published(self.case, metric.name),
            options=asdict(self.case), vmstat=self.counters(),
        )  # fmt: skip


def rank(status: str) -> int:
    """How bad it is; what is not known is the worst."""
    return _WORST.index(status) if status in _WORST else len(_WORST)


def rows(
    cases: Sequence[Case], rounds: Mapping[Turn, Outcome], kernels: Sequence[str], warmup: int
) -> list[Row]:
    """Every row: every metric of every case, those without a single good round included.

    The first ``warmup`` rounds of each case are not counted.
    """
    found = []
    for case in cases:
        results = CaseResults(case, rounds, kernels, warmup)
        found += [results.row(metric) for metric in suites.find(case.suite).metrics]
    judge(found)
    return found
