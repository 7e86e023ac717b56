# SPDX-License-Identifier: GPL-2.0
"""Honest figures from few rounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vswaplab.bench.permutation import ALPHA, ENOUGH

RESAMPLES = 10_000
SEED = 20260924  # the same rounds give the same interval
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """Of one kernel's rounds. ``stdev`` is the sample's (n - 1); 0 for a single round."""

    n: int
    mean: float | None = None
    stdev: float | None = None
    median: float | None = None


def summary(values: Sequence[float]) -> Summary:
    """Mean, standard deviation and median; None for all three without values."""
    if not values:
        return Summary(0)
    stdev = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Summary(len(values), float(np.mean(values)), stdev, float(np.median(values)))


def ratio(values: Sequence[float], base: Sequence[float]) -> float | None:
    """The median of ``values`` over that of ``base``; None where that says nothing, as of a difference below 0."""
    if not values or not base:
        return None
    above, below = float(np.median(values)), float(np.median(base))
    return above / below if above >= 0 and below > 0 else None


def interval(values: Sequence[float], base: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % confidence interval of ratio(): percentile bootstrap, both samples drawn anew.

    None with fewer than ENOUGH rounds of either, or when a resampled median has no ratio.
    """
    if min(len(values), len(base)) < ENOUGH:
        return None
    random = np.random.default_rng(SEED)
    above, below = (
        np.median(random.choice(np.asarray(sample, float), (RESAMPLES, len(sample))), axis=1)
        for sample in (values, base)
    )
    if not np.all(below > 0) or not np.all(above >= 0):
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(above / below, (tail, 1 - tail))
    return float(low), float(high)


def verdict(found: float | None, p: float | None, lower_is_better: bool, deterministic: bool = False) -> str:
    """In words: what the ratio and its p-value say, which is corrected; ``deterministic`` figures need none."""
    if found is None:
        return "not measured"
    if p is None:
        return "one round" if deterministic else "too few rounds"
    if p >= ALPHA or found == 1:
        return "no difference measured"
    return "better" if (found < 1) == lower_is_better else "worse"
