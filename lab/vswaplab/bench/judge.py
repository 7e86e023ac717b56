# SPDX-License-Identifier: GPL-2.0
"""The verdicts of a report: given to all its rows together, because many comparisons are made at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from vswaplab.bench import permutation, stats


def digits(value: float | None) -> float | None:
    """Six digits say more than enough."""
    return None if value is None else float(f"{value:.6g}")


def compared(values: Sequence[float], base: Sequence[float]) -> dict[str, Any]:
    """Ratio, interval and p-value of two kernels' rounds; the last two None when they are too few."""
    ci = stats.interval(values, base)
    enough = min(len(values), len(base)) >= permutation.ENOUGH
    return {
        "ratio": digits(stats.ratio(values, base)),
        "ci95": [digits(ci[0]), digits(ci[1])] if ci else None,
        "p": digits(permutation.p_value(values, base)) if enough else None,
    }


def _contradicting(entry: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    """The test is of means, the ratio of medians: where one says better and the other worse, neither counts."""
    return bool((entry["mean"] - base["mean"]) * (entry["median"] - base["median"]) < 0)


def judge(rows: Sequence[dict[str, Any]]) -> None:
    """Add "p_holm" and "verdict" to every comparison of a report; to each row itself those of its "other"."""
    every = [(row, name, found) for row in rows for name, found in row["ratios"].items()]
    tested = [found for _, _, found in every if found["p"] is not None]
    for found, corrected in zip(tested, permutation.holm([found["p"] for found in tested]), strict=True):
        found["p_holm"] = digits(corrected)
    for row, name, found in every:
        p = found.setdefault("p_holm", None)
        entries = row["kernels"]
        if p is not None and _contradicting(entries[name], entries[row["base"]]):
            p = 1.0
        found["verdict"] = stats.verdict(found["ratio"], p, row["lower_is_better"], row["deterministic"])
    for row in rows:
        row.update(row["ratios"].get(row["other"], _NOTHING))


_NOTHING: Mapping[str, Any] = {"ratio": None, "ci95": None, "p": None, "p_holm": None, "verdict": "not measured"}


def too_few(comparisons: int, rounds: int) -> str | None:
    """That so few rounds give no verdict on so many comparisons, and how many would; None if they can."""
    needed = permutation.rounds_needed(comparisons)
    if not comparisons or rounds >= needed:
        return None
    return f"{comparisons} comparisons need {needed} rounds or more for a verdict on any of them, not {rounds}"


def note(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The same of rows that are there: of those that could have had a verdict, and the rounds that were good."""
    counts = [
        min(row["kernels"][name]["n"], row["kernels"][row["base"]]["n"])
        for row in rows
        for name, found in row["ratios"].items()
        if found.get("p") is not None
    ]
    return too_few(len(counts), max(counts, default=0))
