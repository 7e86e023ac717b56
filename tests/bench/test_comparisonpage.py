# SPDX-License-Identifier: GPL-2.0
"""The figures in docs/comparison.md come from the reports that it names."""

import json
from pathlib import Path
from typing import Any

import pytest

from vswaplab import paths
from vswaplab.bench import comparisonpage, document
from vswaplab.errors import UsageError


def row(setup: str, metric: str, ratio: float, ours: float, **more: Any) -> dict[str, Any]:
    """A row of a report as far as the page needs it; mainline has 2."""
    medians = {"mainline": {"median": 2.0}, "vswap": {"median": ours}}
    return {
        "suite": "touch", "setup": setup, "metric": metric, "kernels": medians,
        "ratio": ratio, "ci95": None, "lower_is_better": True,
    } | more  # fmt: skip


def filled(root: Path, *lines: str) -> list[str]:
    """A page with these lines as it should be."""
    content = {
        **dict.fromkeys((*document.KEYS, "order")),
        "compared": [],
        "results": [
            row("zswap, lzo", "read p50", 0.5, 1.0, ci95=[0.4, 0.625]),
            row("zswap, lz4", "read p50", 1.25, 2.5),
            row("zswap", "rate, all", 1.5, 3.0, lower_is_better=False),
        ],
        "against": {
            "results": [
                row("zswap, lzo on mainline", "read p50", 3.0, 6.0),
                row("zswap, lzo on vswap", "read p50", 1.125, 2.25),
            ]
        },
    }
    (root / "docs/bench").mkdir(parents=True)
    (root / "docs/bench/run.json").write_text(json.dumps(content))
    (root / comparisonpage.PAGE).write_text("".join(f"{line}\n" for line in lines))
    return comparisonpage.written(root).splitlines()


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("| p50 | 9.99 (9.99 to 9.99) |", "| p50 | 0.50 (0.40 to 0.62) |", "touch, zswap lzo, read p50"),
        ("| p50 | of 3.11 | **9.999** |", "| p50 | of 2.00 | 1.00 |", "touch, zswap lzo, read p50"),
        ("| | lz4 | 0.9 |", "| | lz4 | **1.2** |", "touch, zswap lz4, read p50"),
        ("| lz4 | 9.0 | 0.0 |", "| lz4 | 2.0 | **2.5** |", "touch, zswap lz4, read p50"),
        ("| rate | **0.10** |", "| rate | 1.50 |", "touch, zswap, rate, all"),
        ("| p50 | zram | 0.100 |", "| p50 | zram | **1.125** |", "against, touch, zswap, read p50"),
    ],
)
def test_a_line_gets_its_figures(tmp_path: Path, before: str, after: str, name: str) -> None:
    """As precise as it was; the words stay, and what is worse is bold."""
    end = f" [run](bench/run.json) | {name} |"
    assert filled(tmp_path, "Words, 1.5.", "| 1.5 | 2.5 | 3.5 |", before + end) == [
        "Words, 1.5.",
        "| 1.5 | 2.5 | 3.5 |",
        after + end,
    ]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("| p50 | 1.0 | [run](bench/run.json) | touch, zswap, read p99 |", "0 rows 'touch, zswap, read p99'"),
        ("| p50 | 1.0 | [run](bench/run.json) | touch, zswap |", "is not: "),
        ("| p50 | 1.0 | [run](bench/run.json) | touch, zswap, read p50 |", "2 rows"),
        ("| p50 | many | [run](bench/run.json) | touch, zswap lzo, read p50 |", "0 figures"),
        ("| lz4 | 1.0 (0.9 to 1.1) | [run](bench/run.json) | touch, zswap lz4, read p50 |", "3 figures, but 1"),
    ],
)
def test_a_line_that_its_report_cannot_fill(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        filled(tmp_path, line)


def test_there_are_figures_and_they_are_those_of_the_reports() -> None:
    page = (paths.repo_root() / comparisonpage.PAGE).read_text()
    assert sum(comparisonpage._parsed(line) is not None for line in page.splitlines()) > 15
    assert comparisonpage.written(paths.repo_root()) == page
