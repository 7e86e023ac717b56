# SPDX-License-Identifier: GPL-2.0
"""Plots as SVG text, to be put into a page: no files, no scripts, the page's own fonts."""

import io
import math
import re
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from vswaplab.bench.row import Row

COLOURS = {
    "better": "#1a7f4b",
    "worse": "#b3261e",
    "no difference measured": "#6b7280",
    "too few rounds": "#a16207",
    "one round": "#6b7280",
}
KERNEL_COLOURS = ("#64748b", "#2563eb", "#c2410c", "#7c3aed", "#0f766e", "#be185d")
SPAN = 4.0  # ratios beyond this, or below its inverse, are drawn at the edge
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "vswap",  # the same data gives the same page
    "font.family": ["DejaVu Sans"],  # its own: the only one it can measure everywhere
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9ca3af",
    "xtick.color": "#4b5563",
    "ytick.color": "#111827",
}


def _svg(figure: Figure, label: str) -> str:
    """The drawing as one <svg> element."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def _clipped(value: float) -> float:
    return min(max(value, 1 / SPAN), SPAN)


def _whole(rows: Sequence[Row]) -> float:
    """How far the axis has to go: a little beyond everything there is, at least 10 % either way."""
    found = [row.compared for row in rows]
    ends = [abs(math.log(_clipped(v))) for one in found for v in (one.ratio, *(one.ci95 or ())) if v and v > 0]
    return math.exp(max([*ends, math.log(1.1)]) * 1.08)


def _ticks(span: float) -> list[float]:
    for ticks in ([0.9, 0.95, 1, 1.05, 1.1], [0.8, 0.9, 1, 1.1, 1.25], [0.5, 0.67, 0.8, 1, 1.25, 1.5, 2]):
        if ticks[-1] * 1.15 >= span:
            return ticks
    return [0.25, 0.33, 0.5, 0.67, 1, 1.5, 2, 3, 4]


def forest(rows: Sequence[Row], base: str, other: str) -> str:
    """Ratio and confidence interval of every metric, one line each, on a logarithmic axis around 1."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.6, 0.25 * len(rows) + 0.75), layout="constrained")
        axes = figure.subplots()
        for at, row in enumerate(rows):
            _line(axes, at, row)
        axes.axvline(1, color="#111827", linewidth=0.8, zorder=1)
        span = _whole(rows)
        axes.set_xscale("log")
        axes.set_xlim(1 / span, span)
        ticks = [tick for tick in _ticks(span) if 1 / span <= tick <= span]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_yticks(range(len(rows)), [row.metric for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(axis="x", color="#e5e7eb", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_xlabel(f"{other} / {base}", color="#4b5563")
        axes.tick_params(length=0)
        return _svg(figure, f"ratios {other} to {base}")


def _line(axes: Any, at: int, row: Row) -> None:
    """One ratio; a cross at the edge of the plot where there is none."""
    found = row.compared
    if found.ratio is None:
        text = "no figure: " + "; ".join(f"{name} {entry.status}" for name, entry in row.kernels.items())
        axes.text(1.0, at, f"  {text}", va="center", color=COLOURS["worse"], fontsize=8)
        return
    colour = COLOURS.get(found.verdict, "#111827")
    if found.ci95:
        axes.plot([_clipped(end) for end in found.ci95], [at, at], color=colour, linewidth=2.2, alpha=0.45)
    axes.plot(_clipped(found.ratio), at, "o", color=colour, markersize=5.5)


def strip(row: Row, kernels: Sequence[str]) -> str:
    """Every round of one metric as a dot, a line per kernel, the medians marked."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(4.6, 0.3 * len(kernels) + 0.45), layout="constrained")
        axes = figure.subplots()
        for at, name in enumerate(kernels):
            colour = KERNEL_COLOURS[at % len(KERNEL_COLOURS)]
            entry = row.kernels[name]
            axes.plot(entry.values, [at] * len(entry.values), "o", color=colour, alpha=0.55, markersize=5)
            if entry.median is not None:
                axes.plot(entry.median, at, "|", color=colour, markersize=15, markeredgewidth=2.2)
        axes.set_yticks(range(len(kernels)), list(kernels))
        axes.set_ylim(len(kernels) - 0.5, -0.5)
        axes.tick_params(length=0)
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter(lambda value, _at: f"{value:,.6g}")
        axes.grid(axis="x", color="#e5e7eb", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(x=0.08)
        axes.set_title(f"{row.metric}, {row.unit}", fontsize=9, loc="left", color="#111827")
        return _svg(figure, f"{row.metric} by round")
