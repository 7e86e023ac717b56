# SPDX-License-Identifier: GPL-2.0
"""Means, medians, ratios and what may be said about them."""

import statistics

import numpy as np
import pytest

from vswaplab.bench import stats


def test_summary_is_what_the_standard_library_says() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0]
    found = stats.summary(values)
    assert found.n == 5
    assert found.mean == pytest.approx(statistics.mean(values))
    assert found.stdev == pytest.approx(statistics.stdev(values))
    assert found.median == statistics.median(values)


def test_nothing_and_one_value() -> None:
    assert stats.summary([]) == stats.Summary(0)
    assert stats.summary([2.0]) == stats.Summary(1, 2.0, 0.0, 2.0)


def test_ratio_of_medians() -> None:
    assert stats.ratio([1.0, 2.0, 9.0], [4.0, 4.0, 5.0]) == 0.5
    assert stats.ratio([], [1.0]) is None
    assert stats.ratio([1.0], [0.0, 0.0, 0.0]) is None
    assert stats.ratio([0.0], [1.0]) == 0


def test_no_ratio_of_differences_below_0() -> None:
    """Memory that is less free afterwards, less what it was before, can be below 0 if next to none was used."""
    assert stats.ratio([-0.2], [0.3]) is None and stats.ratio([0.2], [-0.3]) is None
    five = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert stats.interval(five, [-1.0, *five[1:]]) is None and stats.interval([-1.0, *five[1:]], five) is None


def test_the_same_rounds_give_the_same_interval() -> None:
    values, base = [1.0, 1.1, 1.2, 1.3, 1.4], [1.0, 1.05, 1.1, 1.2, 1.3]
    assert stats.interval(values, base) == stats.interval(list(values), list(base))


def test_too_few_rounds_give_no_interval() -> None:
    five = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert stats.interval(five[:4], five) is None and stats.interval(five, five[:4]) is None
    assert stats.interval(five, five) is not None
    assert stats.interval(five, [0.0, 0.0, 0.0, 0.0, 1.0]) is None


def covered(true_ratio: float, rounds: int, tries: int) -> float:
    """How often the interval covers the ratio it estimates."""
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(tries):
        base = random.normal(100, 5, rounds).tolist()
        values = random.normal(100 * true_ratio, 5, rounds).tolist()
        low, high = stats.interval(values, base) or (0, 0)
        hits += low <= true_ratio <= high
    return hits / tries


@pytest.mark.parametrize("rounds", [5, 7, 9])
def test_the_interval_covers_what_it_should(rounds: int) -> None:
    assert covered(0.8, rounds, 200) >= 0.9


@pytest.mark.parametrize(
    ("found", "p", "lower", "said"),
    [
        (0.8, 0.04, True, "better"),
        (0.8, 0.04, False, "worse"),
        (1.2, 0.04, True, "worse"),
        (1.2, 0.04, False, "better"),
        (0.5, 0.05, True, "no difference measured"),
        (1.0, 0.04, True, "no difference measured"),
        (0.5, None, True, "too few rounds"),
        (None, None, True, "not measured"),
    ],
)
def test_verdicts(found: float | None, p: float | None, lower: bool, said: str) -> None:
    assert stats.verdict(found, p, lower) == said


def test_what_does_not_vary_needs_no_interval() -> None:
    assert stats.verdict(0.81, None, True, deterministic=True) == "one round"
    assert stats.verdict(None, None, True, deterministic=True) == "not measured"
