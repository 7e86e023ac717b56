# SPDX-License-Identifier: GPL-2.0
"""Every figure in docs/comparison.md is in the report that it names."""

import json
import re
from typing import Any

import pytest

from vswaplab import paths

DOCS = paths.repo_root() / "docs"
PAGE = DOCS / "comparison.md"
NUMBER = re.compile(r"\d[\d,]*\.\d+|\d+\.\d+")


def rows() -> list[tuple[list[str], str, list[str]]]:
    """Figures, report and row of each line of the tables under "Cost"."""
    found = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        report = re.fullmatch(r"\[\w+\]\((bench/[\w.-]+\.json)\)", cells[-2]) if len(cells) > 2 else None
        if report:
            found.append((NUMBER.findall(" ".join(cells[1:-2])), report[1], cells[-1].split(", ", 3)))
    return found


def result(report: str, row: list[str]) -> dict[str, Any]:
    """The row of a report: [against,] suite, set-up with what tells several apart, metric."""
    content = json.loads((DOCS / report).read_text())
    against = row[0] == "against"
    words = row[1:] if against else row
    suite, (setup, _, option), metric = words[0], words[1].partition(" "), ", ".join(words[2:])
    found = [
        line
        for line in (content["against"]["results"] if against else content["results"])
        if (line["suite"], line["metric"]) == (suite, metric)
        and line["setup"].split(",")[0] == setup
        and (not option or option in line["setup"].split(", "))
        and (not against or line["setup"].endswith(" on vswap"))
    ]
    assert len(found) == 1, f"{report}: {len(found)} rows {row}"
    return dict(found[0])


def shown(line: dict[str, Any], figures: list[str]) -> list[str]:
    """What the page should say: medians of both kernels, or ratio with interval, as precise as it says it."""
    digits = len(figures[0].partition(".")[2])
    if len(figures) == 2:
        return [f"{line['kernels'][name]['median']:.{digits}f}" for name in ("mainline", "vswap")]
    values = [line["ratio"], *(line["ci95"] or [])]
    return [f"{value:.{digits}f}" for value in values]


def test_there_are_figures() -> None:
    assert len(rows()) > 15


@pytest.mark.parametrize(("figures", "report", "row"), rows(), ids=lambda value: str(value)[:40])
def test_figure(figures: list[str], report: str, row: list[str]) -> None:
    assert shown(result(report, row), figures) == figures


def test_what_is_worse_is_marked() -> None:
    """Honest in both directions: a ratio that is worse for virtual swap is bold, and no other."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found = re.fullmatch(r"\[\w+\]\((bench/[\w.-]+\.json)\)", cells[-2]) if len(cells) > 2 else None
        if not found:
            continue
        of = result(found[1], cells[-1].split(", ", 3))
        worse = of["ratio"] > 1 if of["lower_is_better"] else of["ratio"] < 1
        assert ("**" in "".join(cells[1:-2])) == worse, line
