# SPDX-License-Identifier: GPL-2.0
"""The verdicts of a report: given to all its rows together, because many comparisons are made at once."""

from collections.abc import Sequence
from dataclasses import replace

from vswaplab.bench import permutation, stats
from vswaplab.bench.row import Comparison, Entry, Row


def six_digits(value: float) -> float:
    """They say more than enough."""
    return float(f"{value:.6g}")


def digits(value: float | None) -> float | None:
    """Six digits of it, if there is one."""
    return None if value is None else six_digits(value)


def compared(values: Sequence[float], base: Sequence[float]) -> Comparison:
    """Ratio, interval and p-value of two kernels' rounds; the last two None when they are too few."""
    ci = stats.interval(values, base)
    enough = min(len(values), len(base)) >= permutation.ENOUGH
    return Comparison(
        ratio=digits(stats.ratio(values, base)),
        ci95=[six_digits(ci[0]), six_digits(ci[1])] if ci else None,
        p=digits(permutation.p_value(values, base)) if enough else None,
    )


def _contradicting(entry: Entry, base: Entry) -> bool:
    """The test is of means, the ratio of medians: where one says better and the other worse, neither counts."""
    if entry.mean is None or base.mean is None or entry.median is None or base.median is None:
        return False
    return (entry.mean - base.mean) * (entry.median - base.median) < 0


def judge(rows: Sequence[Row]) -> None:
    """Correct the p-value and give the verdict of every comparison of a report."""
    every = [(row, name, found) for row in rows for name, found in row.ratios.items()]
    tested = [found.p for _, _, found in every if found.p is not None]
    corrected = iter(permutation.holm(tested))
    for row, name, found in every:
        p = p_holm = digits(next(corrected)) if found.p is not None else None
        if p is not None and _contradicting(row.kernels[name], row.kernels[row.base]):
            p = 1.0
        verdict = stats.verdict(found.ratio, p, row.lower_is_better, row.deterministic)
        row.ratios[name] = replace(found, p_holm=p_holm, verdict=verdict)
    for row in rows:
        row.compared = row.ratios.get(row.other or "", Comparison())


def too_few(comparisons: int, rounds: int) -> str | None:
    """That so few rounds give no verdict on so many comparisons, and how many would; None if they can."""
    needed = permutation.rounds_needed(comparisons)
    if not comparisons or rounds >= needed:
        return None
    return f"{comparisons} comparisons need {needed} rounds or more for a verdict on any of them, not {rounds}"


def note(rows: Sequence[Row]) -> str | None:
    """The same of rows that are there: of those that could have had a verdict, and the rounds that were good."""
    counts = [
        min(row.kernels[name].n, row.kernels[row.base].n)
        for row in rows
        for name, found in row.ratios.items()
        if found.p is not None
    ]
    return too_few(len(counts), max(counts, default=0))
