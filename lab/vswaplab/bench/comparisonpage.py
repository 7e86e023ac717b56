# SPDX-License-Identifier: GPL-2.0
"""The figures in docs/comparison.md, from the reports that its tables name.

A line of a table is filled in if its last but one cell links to a report and its last cell names a row of it:
"[against, ]suite, set-up[ option], metric". What the line says with decimals, between its first cell and those
two, are medians of mainline and virtual swap, if it is two figures, or the ratio, with an interval if it is
three. The words are written by hand, and so is how many decimals a figure has.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vswaplab.bench.document import read_json
from vswaplab.errors import UsageError

PAGE = Path("docs/comparison.md")

_REPORT = re.compile(r"\[\w+\]\((bench/[\w.-]+\.json)\)")
_NUMBER = re.compile(r"\d[\d,]*\.\d+")


@dataclass(frozen=True)
class _Line:
    """A line of a table with figures: its cells, the report, as docs/ names it, and words for the row."""

    cells: list[str]
    report: str
    row: list[str]

    def figures(self) -> list[str]:
        """Those that it shows."""
        return _NUMBER.findall(" ".join(self.cells[1:-2]))


def _parsed(text: str) -> _Line | None:
    """A line of the page, if it has figures from a report."""
    cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
    found = _REPORT.fullmatch(cells[-2]) if len(cells) > 2 else None
    return _Line(cells, found[1], cells[-1].split(", ", 3)) if found else None


def _result(content: Mapping[str, Any], line: _Line) -> Mapping[str, Any]:
    """The row of the report. Raises UsageError unless there is one such row."""
    against = line.row[0] == "against"
    words = line.row[1:] if against else line.row
    if len(words) < 3:
        raise UsageError(f"{PAGE}: {', '.join(line.row)!r} is not: [against, ]suite, set-up, metric")
    suite, (setup, _, option), metric = words[0], words[1].partition(" "), ", ".join(words[2:])
    found = [
        row
        for row in (content["against"]["results"] if against else content["results"])
        if (row["suite"], row["metric"]) == (suite, metric)
        and row["setup"].split(",")[0] == setup
        and (not option or option in row["setup"].split(", "))
        and (not against or row["setup"].endswith(" on vswap"))
    ]
    if len(found) != 1:
        raise UsageError(f"{PAGE}: {line.report} has {len(found)} rows {', '.join(line.row)!r}")
    row: Mapping[str, Any] = found[0]
    return row


def _values(row: Mapping[str, Any], figures: list[str]) -> list[str]:
    """What the page should say instead of ``figures``."""
    digits = len(figures[0].partition(".")[2])
    if len(figures) == 2:
        return [f"{row['kernels'][name]['median']:.{digits}f}" for name in ("mainline", "vswap")]
    return [f"{value:.{digits}f}" for value in (row["ratio"], *(row["ci95"] or []))]


def _filled(content: Mapping[str, Any], line: _Line) -> str:
    """The line with the report's figures; the ratio, or ours of two, is bold if it is worse for virtual swap."""
    row, figures = _result(content, line), line.figures()
    values = _values(row, figures) if figures else []
    if not figures or len(values) != len(figures):
        raise UsageError(f"{PAGE}: {len(figures)} figures, but {len(values)} in {', '.join(line.row)!r}")
    worse = row["ratio"] > 1 if row["lower_is_better"] else row["ratio"] < 1
    cells = [line.cells[0], *(cell.replace("**", "") for cell in line.cells[1:-2]), *line.cells[-2:]]
    left = iter(values)
    last = 0
    for place in range(1, len(cells) - 2):
        if _NUMBER.search(cells[place]):
            cells[place] = _NUMBER.sub(lambda _: next(left), cells[place])
            last = place
    if worse:
        cells[last] = _NUMBER.sub(r"**\g<0>**", cells[last], count=1)
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def written(root: Path) -> str:
    """What the page below ``root`` should say. Raises UsageError for a row that its report does not have."""
    lines = [(text, _parsed(text)) for text in (root / PAGE).read_text().splitlines()]
    reports = {name: read_json(root / PAGE.parent / name) for name in {line.report for _, line in lines if line}}
    return "".join(f"{_filled(reports[line.report], line) if line else text}\n" for text, line in lines)
