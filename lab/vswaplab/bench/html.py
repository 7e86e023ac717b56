# SPDX-License-Identifier: GPL-2.0
"""The report: one page that holds everything, plots and style included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from vswaplab.bench import display, judge, plots, results
from vswaplab.bench.case import slug
from vswaplab.bench.published import NOTE
from vswaplab.bench.row import Row
from vswaplab.units import format_size

VERDICTS = ("better", "worse", "no difference measured", "too few rounds", "one round", "not measured")
MISSING = "cases that are not finished, and not here:"


@dataclass(frozen=True)
class Section:
    """All metrics of one case."""

    suite: str
    setup: str
    pressure: str
    rows: Sequence[Row]

    @property
    def anchor(self) -> str:
        """For links within the page."""
        return slug(f"{self.suite} {self.setup} {self.pressure}")

    @property
    def failures(self) -> list[str]:
        """What went wrong, by kernel; the same for all metrics."""
        return [f"{name}: {text}" for name, entry in self.rows[0].kernels.items() for text in entry.failures]

    @property
    def counters(self) -> list[str]:
        """The counters that are not 0 for every kernel."""
        columns = self.rows[0].vmstat.values()
        names = dict.fromkeys(name for column in columns for name in column)
        return [name for name in names if any(column.get(name) for column in columns)]

    @property
    def published(self) -> list[str]:
        """Whose published figures there are, for any of the metrics."""
        return list(dict.fromkeys(figure.label for row in self.rows for figure in row.published))


def sections(rows: Sequence[Row]) -> list[Section]:
    """The rows by case, in the order of the run."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.suite, row.setup, row.pressure), []).append(row)
    return [Section(*case, entries) for case, entries in found.items()]


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many metrics there are of each verdict."""
    found = {verdict: sum(row.compared.verdict == verdict for row in rows) for verdict in VERDICTS}
    return {verdict: count for verdict, count in found.items() if count}


def _change(row: Row) -> str:
    """The difference in percent: "−12.3 %"."""
    if row.compared.ratio is None:
        return "–"
    percent = (row.compared.ratio - 1) * 100
    return f"{'+' if percent >= 0 else '−'}{abs(percent):.1f} %"


def _interval(row: Row) -> str:
    ci = row.compared.ci95
    return f"{ci[0]:.3f} – {ci[1]:.3f}" if ci else "–"


def _published(row: Row, label: str) -> str:
    """Of that source the ratio and what it is of: "0.989 (14.98 → 14.82)"."""
    for found in row.published:
        if found.label == label:
            figures = display.published_figures(found)
            return f"{found.ratio:.3f}" + (f" ({figures})" if figures else "")
    return "–"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vswaplab.bench"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "figure": display.figure, "size": format_size, "change": _change, "interval": _interval,
        "p": display.p_value, "published": lambda row: display.published(row.published),
        "published_by": _published, "verdict": lambda text: "verdict-" + text.split()[0],
    }  # fmt: skip
    return environment


def incomplete(data: bytes) -> bool:
    """Whether this is the page of a run whose cases are not all in it."""
    return MISSING.encode() in data


def page(content: Mapping[str, Any]) -> str:
    """The page for a document of vswap bench."""
    names = list(content["order"])
    base, other = content.get("pair") or results.pair(names)
    rows = [Row.from_json(row) for row in content["results"]]
    found = sections(rows)
    headline, rest = results.headline(rows)
    against = content.get("against")
    beside = [Row.from_json(row) for row in against["results"]] if against else []
    parts = results.headline(beside)
    forests, strips = {}, {}
    for section in found:
        if other:
            forests[section.anchor] = plots.forest(section.rows, base, other)
        strips[section.anchor] = [
            plots.strip(row, names) for row in section.rows if any(e.values for e in row.kernels.values())
        ]
    return _environment().get_template("report.html.j2").render(
        content=content, names=names, base=base, other=other, sections=found, forests=forests, strips=strips,
        failed=sum(bool(section.failures) for section in found),
        headline=sections(headline), rest=sections(rest), against=against,
        note=judge.note([*rows, *beside]),
        against_parts=[sections(part) for part in parts if part], counts=counts(headline),
        limit=content["options"]["limit"], missing=MISSING, theirs=NOTE,
    )  # fmt: skip
