# SPDX-License-Identifier: GPL-2.0
"""What runs and how long is left, on stderr; and the results as a table."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

from vswaplab.bench import judge, results
from vswaplab.bench.case import Turn
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.published import NOTE, Published
from vswaplab.bench.row import Entry, Row
from vswaplab.units import format_seconds

_COLOURS = {
    "better": "green", "worse": "red", "no difference measured": "default", "too few rounds": "yellow",
    "one round": "default",
}  # fmt: skip


class Display:
    """A bar on a terminal, a line per round elsewhere; failed rounds are told in both."""

    def __init__(self, console: Console | None = None, warmup: int = 0) -> None:
        self._console = console or Console(stderr=True, soft_wrap=True)
        self._warmup = warmup
        self._bar = RichProgress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"), console=self._console, transient=True, auto_refresh=False,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=None, left="")
        self._live: Live | None = None

    def __enter__(self) -> "Display":
        if self._console.is_terminal:
            self._live = self._bar.live
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def starts(self, turn: Turn, done: int, total: int, left: float | None) -> None:
        """See engine.Watcher."""
        number = turn.round - self._warmup + 1
        which = f"round {number}" if number > 0 else "warm-up"
        what = f"{turn.case.title}: {turn.kernel}, {which}"
        remaining = f"{format_seconds(left)} left" if left is not None else "time left not known yet"
        if self._live:
            self._bar.update(self._task, description=what, completed=done, total=total, left=remaining)
            self._live.refresh()
            return
        self._console.print(f"vswap: [{done + 1}/{total}] {what}; {remaining}", markup=False, highlight=False)

    def ended(self, turn: Turn, outcome: Outcome) -> None:
        """See engine.Watcher."""
        if outcome.status != "ok":
            text = f"vswap: {turn.case.title}: {turn.kernel}: {outcome.status}: {outcome.reason}"
            self._console.print(text, markup=False, highlight=False, style="red")


def figure(value: float | None) -> str:
    """A number for a table: four significant digits, thousands separated."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def spread(entry: Entry) -> str:
    """Median ± standard deviation, or why there is none."""
    if not entry.n:
        return entry.status
    text = f"{figure(entry.median)} ± {figure(entry.stdev)}"
    return text if entry.status == "ok" else f"{text} ({entry.status})"


def compared(row: Row) -> str:
    """The ratio with its interval."""
    found = row.compared
    if found.ratio is None:
        return "-"
    return f"{found.ratio:.3f}" + (f" [{found.ci95[0]:.3f}, {found.ci95[1]:.3f}]" if found.ci95 else "")


def p_value(row: Row) -> str:
    """The p-value as it was corrected; runs of before it was computed have none."""
    return "-" if row.compared.p_holm is None else f"{row.compared.p_holm:.2g}"


def published(found: Sequence[Published], digits: int = 3) -> list[str]:
    """The ratios that others have published, and whose they are."""
    return [f"{figure.ratio:.{digits}f} {figure.source}" for figure in found]


def published_figures(found: Published) -> str:
    """What the ratio is of; nothing if it was published alone."""
    return "" if found.base is None else f"{figure(found.base)} → {figure(found.value)}"


def table(rows: Sequence[Row], kernels: Sequence[str]) -> Table:
    """The results, a row per metric; with what others have published of any of them."""
    theirs = any(row.published for row in rows)
    drawn = Table()
    for name in ("suite", "set-up", "pressure", "metric"):
        drawn.add_column(name)
    for name in kernels:
        drawn.add_column(f"{name}\nmedian ± stdev", justify="right")
    drawn.add_column("ratio [95 % CI]", justify="right")
    if theirs:
        drawn.add_column("published ratio")
    drawn.add_column("p", justify="right")
    drawn.add_column("")
    before: object = None
    for row in rows:
        case = (row.suite, row.setup, row.pressure)
        if case != before:
            drawn.add_section()
        cells = [_cell(row.kernels[name]) for name in kernels]
        colour = _COLOURS.get(row.compared.verdict, "red")
        drawn.add_row(
            *(case if case != before else ("", "", "")), f"{row.metric}, {row.unit}", *cells, compared(row),
            *(["\n".join(published(row.published))] if theirs else []), p_value(row),
            f"[{colour}]{row.compared.verdict}[/{colour}]",
        )  # fmt: skip
        before = case
    return drawn


def _cell(entry: Entry) -> str:
    text = spread(entry)
    return text if entry.status == "ok" else f"[red]{text}[/red]"


def show_report(content: Mapping[str, Any]) -> None:
    """Print the tables of a document."""
    rows = [Row.from_json(row) for row in content["results"]]
    against = content.get("against")
    beside = [Row.from_json(row) for row in against["results"]] if against else []
    show(rows, content["order"])
    if said := judge.note([*rows, *beside]):
        Console(stderr=True).print(f"vswap: {said}", markup=False, highlight=False, soft_wrap=True)
    if against:
        console = Console(width=None if sys.stdout.isatty() else 160)
        console.print(f"Against {against['base']}, round by round:", markup=False, highlight=False)
        show(beside, against["order"])
        for text in against["left_out"]:
            console.print(f"not compared with {against['base']}: {text}", markup=False, highlight=False)


def show(rows: Sequence[Row], kernels: Sequence[str]) -> None:
    """Print the table, as wide as the terminal or 160 columns where there is none."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    for part in results.headline(rows):
        if part:
            console.print(table(part, kernels))
    if any(row.published for row in rows):
        console.print(NOTE, markup=False, highlight=False)
    for row in rows:
        what = f"{row.suite} / {row.setup} / {row.pressure}, {row.metric}"
        for found in row.published:
            if said := published_figures(found):
                text = f"published for {what}: {said} {row.unit} ({found.label})"
                console.print(text, markup=False, highlight=False)
