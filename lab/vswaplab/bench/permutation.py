# SPDX-License-Identifier: GPL-2.0
"""Whether two groups of rounds differ: an exact permutation test, and Holm's correction for many of them.

If the kernels did not differ, any of the rounds could as well have been the other one's: the p-value
is the share of all ways to divide them in which the means are at least as far apart as they are. It
supposes nothing about how times are distributed. Means, not medians: most divisions of a few rounds
share their medians with others, and even ten rounds without overlap would then not be called different.
"""

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
ENOUGH = 5  # rounds of each: with fewer nothing is claimed
EXACT = 200_000  # divisions that are all looked at: up to ten rounds of each; of more, as many by chance
SEED = 20260924  # the same rounds give the same p-value
_SAME = 1e-9  # relative: sums that differ by less differ by rounding


@functools.lru_cache(maxsize=4)
def _divisions(first: int, second: int) -> NDArray[np.bool_]:
    """Every way to choose ``first`` of all rounds, a row each."""
    total = first + second
    chosen = np.array(list(itertools.combinations(range(total), first)))
    found = np.zeros((len(chosen), total), dtype=bool)
    np.put_along_axis(found, chosen, True, axis=1)
    return found


@functools.lru_cache(maxsize=4)
def _samples(first: int, second: int) -> NDArray[np.bool_]:
    """EXACT of them by chance."""
    total = first + second
    return np.random.default_rng(SEED).random((EXACT, total)).argsort(axis=1) < first


def p_value(values: Sequence[float], base: Sequence[float]) -> float:
    """Two-sided, of the difference of the means; neither group may be empty."""
    every = np.asarray([*values, *base], float)
    first, total = len(values), len(every)
    exact = math.comb(total, first) <= EXACT
    divisions = (_divisions if exact else _samples)(first, total - first)
    # With the mean of all taken away, the sum of one group tells the difference of the means.
    every = every - every.mean()
    found = abs(float(every[:first].sum()))
    extreme = int(np.sum(np.abs(divisions @ every) >= found - _SAME * float(np.abs(every).sum())))
    # Of a sample, the division that was measured is one as well: p is never 0.
    return extreme / len(divisions) if exact else (extreme + 1) / (len(divisions) + 1)


def holm(found: Sequence[float]) -> list[float]:
    """The p-values corrected for their number, in the same order: below ALPHA, a difference may be claimed.

    The chance that even one of the claims of a report is wrong is then at most ALPHA.
    """
    adjusted = [0.0] * len(found)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(found)), key=found.__getitem__)):
        largest = max(largest, min(1.0, (len(found) - rank) * found[at]))
        adjusted[at] = largest
    return adjusted


def rounds_needed(rows: int) -> int:
    """The rounds of each kernel with which a report of so many rows can claim any difference at all.

    Two of all divisions are those without overlap: no p-value is smaller.
    """
    return next(n for n in itertools.count(ENOUGH) if 2 / math.comb(2 * n, n) * max(rows, 1) < ALPHA)
