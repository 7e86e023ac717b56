# SPDX-License-Identifier: GPL-2.0
"""The permutation test, its correction, and what a report may claim."""

import math
from dataclasses import replace

import numpy as np
import pytest

from vswaplab.bench import check, judge, permutation, selection
from vswaplab.bench.permutation import ALPHA, holm, p_value
from vswaplab.bench.row import Entry, Row
from vswaplab.bench.selection import QUICK, Selection


@pytest.mark.parametrize("rounds", [3, 5, 7, 10])
def test_no_overlap_is_the_smallest_p(rounds: int) -> None:
    low, high = [float(n) for n in range(rounds)], [float(100 + n) for n in range(rounds)]
    assert p_value(low, high) == p_value(high, low) == 2 / math.comb(2 * rounds, rounds)


def test_p_counted_by_hand() -> None:
    """Of the 6 ways to divide 1, 2, 4, 8 the difference of (1, 4) and (2, 8) is reached by four more than it."""
    assert p_value([1.0, 2.0], [4.0, 8.0]) == pytest.approx(2 / 6)
    assert p_value([1.0, 4.0], [2.0, 8.0]) == pytest.approx(4 / 6)
    assert p_value([1.0, 8.0], [2.0, 4.0]) == 1
    assert p_value([3.0, 3.0], [3.0, 3.0]) == 1, "equal sums are equal whatever their rounding"
    assert p_value([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]) == 1


def test_many_rounds_are_sampled_and_repeatable() -> None:
    random = np.random.default_rng(5)
    values, base = random.normal(100, 5, 12).tolist(), random.normal(104, 5, 12).tolist()
    assert math.comb(24, 12) > permutation.EXACT
    found = p_value(values, base)
    assert found == p_value(values, base) and 0 < found < 0.5
    assert p_value([0.0] * 12, [1.0] * 12) < 1e-4


@pytest.mark.parametrize("rounds", [5, 7])
def test_equal_kernels_are_seldom_called_different(rounds: int) -> None:
    random = np.random.default_rng(2)
    drawn = random.normal(100, 5, (400, 2, rounds)).tolist()
    assert sum(p_value(values, base) < ALPHA for values, base in drawn) <= 0.07 * 400


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []


def row(values: list[float], base: list[float], deterministic: bool = False) -> Row:
    """A row as results.py makes it, before it has a verdict."""

    def entry(found: list[float]) -> Entry:
        return Entry(len(found), float(np.mean(found)), 0.0, float(np.median(found)), "ok", [], found)

    return Row(
        "suite", "zswap", "memcg", "time", "s", lower_is_better=True,
        kernels={"a": entry(base), "b": entry(values)}, ratios={"b": judge.compared(values, base)},
        base="a", other="b", deterministic=deterministic, status="ok", published=(), options={}, vmstat={},
    )  # fmt: skip


LOW, HIGH = [1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]


def test_the_verdict_depends_on_how_many_there_are() -> None:
    """Five rounds without overlap are 2 in 252: enough for six rows, not for seven."""
    for count, said in ((6, "better"), (7, "no difference measured")):
        rows = [row(LOW, HIGH) for _ in range(count)]
        judge.judge(rows)
        assert {entry.compared.verdict for entry in rows} == {said}
        assert rows[0].compared.p == pytest.approx(2 / 252, rel=1e-5)
        assert rows[0].compared.p_holm == pytest.approx(count * 2 / 252, rel=1e-5)


def test_rows_that_are_not_tested_cost_nothing() -> None:
    few, once = row(LOW[:4], HIGH), row(LOW[:1], HIGH[:1], deterministic=True)
    rows = [*(row(LOW, HIGH) for _ in range(6)), few, once]
    judge.judge(rows)
    assert [entry.compared.verdict for entry in rows] == ["better"] * 6 + ["too few rounds", "one round"]
    assert few.compared.ci95 is None and few.compared.p_holm is None and few.compared.ratio is not None


def test_one_outlier_is_no_difference() -> None:
    """Nine medians better, one round so slow that the mean is worse: nothing is claimed."""
    slow = [*(10.0 - n / 100 for n in range(9)), 1e6]
    base = [11.0 + n / 100 for n in range(10)]
    found = row(slow, base)
    found.ratios["b"] = replace(found.ratios["b"], p=0.001)
    judge.judge([found])
    assert found.compared.ratio and found.compared.ratio < 1
    assert found.compared.verdict == "no difference measured"


def test_how_many_rounds_it_takes() -> None:
    assert [permutation.rounds_needed(rows) for rows in (1, 6, 7, 85, 86)] == [5, 5, 6, 7, 8]
    assert judge.too_few(6, 5) is None and judge.too_few(0, 1) is None
    assert "86 comparisons need 8 rounds" in (judge.too_few(86, 7) or "")


def test_the_report_says_why_nothing_is_claimed() -> None:
    rows = [row(LOW, HIGH) for _ in range(7)]
    assert judge.note(rows[:6]) is None and judge.note([]) is None
    assert "7 comparisons need 6 rounds" in (judge.note(rows) or "")


def test_how_many_comparisons_there_are() -> None:
    """The quick suite on two kernels is made for seven rounds."""
    quick, full = (
        selection.cases(Selection(quick=quick, page_clusters=selection.PAGE_CLUSTERS), "um")
        for quick in (True, False)
    )
    assert len(quick) == 2 * len(QUICK)
    assert permutation.rounds_needed(check.comparisons(quick, 2)) == 7
    assert permutation.rounds_needed(check.comparisons(full, 2)) == 9
    assert check.comparisons(full, 3) == 2 * check.comparisons(full, 2) and check.comparisons(full, 1) == 0
    once = selection.cases(Selection(["metadata"]), "um")
    assert check.comparisons(once, 2) == 0, "what does not vary needs no verdict"
