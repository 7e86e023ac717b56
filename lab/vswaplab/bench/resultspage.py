# SPDX-License-Identifier: GPL-2.0
"""docs/results.md and the figures in README.md and docs/comparison.md, made from the reports in docs/bench.

``docs/bench/results.toml`` says which reports there are, and which of their rows are shown where; every figure
comes from the reports. A report whose virtual swap was compiled from other code than that of today is stale, and
its rows say so; a comment is no code. ``docs/bench/kernels/files.json`` has the checksums of the code in the files
of each kernel that a report is of, so that the page can say which of them have changed.
"""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from vswaplab.bench import comparisonpage, display, judge, sources
from vswaplab.bench.document import read_json
from vswaplab.bench.permutation import ENOUGH
from vswaplab.bench.published import NOTE, Published
from vswaplab.bench.results import TUNED
from vswaplab.bench.row import Row
from vswaplab.errors import UsageError
from vswaplab.series.stored import Store

PAGE, README = Path("docs/results.md"), Path("README.md")
REPORTS = Path("docs/bench")
DECLARATION = REPORTS / "results.toml"
KERNELS = REPORTS / "kernels/files.json"
COMMAND = "./vswap report --results"

_BEGIN, _END = f"<!-- made by {COMMAND} -->", "<!-- until here -->"
# Mainline measured twice in one report, as "disk" and "disk-always", differs by up to 0.5 %.
_SAME = 0.01
_OPTIONS = ("compressor", "mglru", "page_cluster")
_ROW_KEYS = {"report", "suite", "setup", "metric", "pressure", "against", "text", "beside", *_OPTIONS}
_OURS = " on vswap"  # how rows of "against" name the kernel that was measured
_HASH_DIGITS = 12


@dataclass(frozen=True)
class Line:
    """A row of a report as a table shows it."""

    text: str
    beside: str  # what it is compared with, in words
    base: str
    other: str
    ratio: str
    published: str  # the ratios of others
    p: str
    verdict: str
    rounds: str
    warmup: int
    kernel: str


@dataclass(frozen=True)
class Report:
    """A document of vswap bench; ``today`` has the checksums of sources with today's code."""

    name: str
    title: str
    full: bool
    notes: Sequence[str]
    content: Mapping[str, Any]
    today: Collection[str]

    @property
    def sources(self) -> str:
        """The checksum of the sources of its virtual swap; "" if it does not say."""
        for name, kernel in self.content["kernels"].items():
            if name.partition(" ")[0] == "vswap" and kernel.get("sources_sha256"):
                return str(kernel["sources_sha256"])
        return ""

    @property
    def kernel(self) -> str:
        """Which kernel it measured, and whether that is today's."""
        if not self.sources:
            return "not recorded"
        return f"`{self.sources[:_HASH_DIGITS]}`" + ("" if self.sources in self.today else " **stale**")

    @property
    def day(self) -> str:
        """The day of the run."""
        return str(self.content["date"]).partition(" ")[0]

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Kernel against kernel, and then everything against the reference, if there was one."""
        against = self.content.get("against")
        return [*self.content["results"], *(against["results"] if against else ())]

    @property
    def counted(self) -> str:
        """The rounds of each case that count, whatever came of them."""
        found = self.content["options"]["rounds"]
        return f"{found} round{'s' if found != 1 else ''}"

    @property
    def tables(self) -> list[tuple[str, str, list[tuple[Mapping[str, Any], Line]]]]:
        """Every row: the names of the two columns, and the rows with what is shown of them."""
        against = self.content.get("against")
        parts = [self.content["results"], *([against["results"]] if against else ())]
        return [
            (part[0]["base"], part[0].get("other") or "vswap", [(row, self.line(row)) for row in part])
            for part in parts
        ]

    @property
    def warning(self) -> str | None:
        """That there were too few rounds for so many comparisons, if so."""
        return judge.note([Row.from_json(row) for row in self.rows if "ratios" in row])

    def line(self, row: Mapping[str, Any], text: str = "", beside: str = "") -> Line:
        """What is shown of one of its rows. Rules of today apply to reports of before."""
        base, other = row["kernels"][row["base"]], row["kernels"][row.get("other") or "vswap"]
        rounds = sorted({base["n"], other["n"]})
        sure = row.get("deterministic", False)
        ci = row["ci95"] if rounds[0] >= ENOUGH else None
        return Line(
            text=f"{text}, {row['unit']}" if text else row["metric"],
            beside=beside,
            base=_figure(base),
            other=_figure(other),
            ratio=_ratio(row["ratio"]) + (f" ({_ratio(ci[0])}–{_ratio(ci[1])})" if ci else ""),
            published="; ".join(_published(row)),
            p=_p_value(row) if rounds[0] >= ENOUGH else "-",
            verdict=_verdict(row, rounds[0], sure, few=rounds[0] < ENOUGH or self.warning is not None),
            rounds=" and ".join(str(count) for count in rounds),
            warmup=self.content["options"]["warmup"],
            kernel=self.kernel,
        )


def _p_value(row: Mapping[str, Any]) -> str:
    return display.p_value(Row.from_json(row)) if "ratios" in row else "-"


def _published(row: Mapping[str, Any]) -> list[str]:
    return display.published([Published(**found) for found in row.get("published", ())], digits=2)


def _figure(entry: Mapping[str, Any]) -> str:
    return display.figure(entry["median"]) if entry["n"] else str(entry["status"])


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _verdict(row: Mapping[str, Any], rounds: int, deterministic: bool, few: bool) -> str:
    """The report's own, but that a deterministic figure says which one is less. ``few``: too few for a verdict."""
    if not rounds or row["ratio"] is None:
        return "not measured"
    if deterministic:
        said = "the same" if abs(row["ratio"] - 1) < _SAME else ("less" if row["ratio"] < 1 else "more")
        return f"{said}, one round" if rounds == 1 else said
    return "too few rounds" if few else str(row["verdict"])


def _matches(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    options = row["options"]
    return (
        all(row[key] == wanted[key] for key in ("suite", "metric"))
        and options["setup"] == wanted["setup"]
        and wanted.get("pressure") in (None, row["pressure"])
        and all(options.get(name) == wanted[name] for name in _OPTIONS if name in wanted)
        and ("page_cluster" in wanted or options.get("page_cluster") in (None, TUNED))
        and (not wanted.get("against") or row["setup"].endswith(_OURS))
    )


def find(report: Report, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one row that a declaration names. Raises UsageError if there is none, or more than one."""
    if unknown := set(wanted) - _ROW_KEYS:
        raise UsageError(f"{DECLARATION}: no such key in a row: {', '.join(sorted(unknown))}")
    part = report.content.get("against") if wanted.get("against") else report.content
    rows: Sequence[Mapping[str, Any]] = part["results"] if part else ()
    found = [row for row in rows if _matches(row, wanted)]
    if len(found) != 1:
        what = ", ".join(f"{key} {value}" for key, value in wanted.items() if key not in ("text", "beside"))
        many = "more than one row" if found else "no row"
        raise UsageError(f"{DECLARATION}: {many} in {report.name}.json for {what}")
    return found[0]


class Results:
    """The declaration with its reports. Raises UsageError when they do not fit together.

    ``kernels`` has the checksums of files by that of all of them, ``current`` is which of these is of today.
    """

    def __init__(
        self,
        declared: Mapping[str, Any],
        reports: Mapping[str, Report],
        kernels: Mapping[str, Mapping[str, str]],
        current: str,
    ) -> None:
        self._reports = reports
        named = {report.sources for report in reports.values()}
        self.kernels = {name: files for name, files in sorted(kernels.items()) if name in named}
        self._files = kernels[current]
        self.sections = [self._section(entry) for entry in declared["section"]]
        self.readme = self._lines(declared["readme"])

    @property
    def reports(self) -> list[Report]:
        """All of them, in the order of the declaration."""
        return list(self._reports.values())

    def changed(self, reports: Sequence[Report]) -> dict[str, list[str] | None]:
        """By the beginning of a stale kernel's checksum: files that differ today, None if they are not known."""
        stale = {report.sources for report in reports if report.sources not in ("", *report.today)}
        return {
            sources[:_HASH_DIGITS]: self._differ(self.kernels[sources]) if sources in self.kernels else None
            for sources in sorted(stale)
        }

    def _differ(self, files: Mapping[str, str]) -> list[str]:
        return sorted(name for name in {**files, **self._files} if files.get(name) != self._files.get(name))

    def _lines(self, section: Mapping[str, Any]) -> list[tuple[Report, Mapping[str, Any], Line]]:
        found = []
        for entry in section.get("rows", ()):
            wanted = {**section.get("of", {}), **entry}
            if wanted.get("report") not in self._reports:
                raise UsageError(f"{DECLARATION}: a row names the report {wanted.get('report')!r}; there is none")
            report = self._reports[wanted["report"]]
            row = find(report, wanted)
            found.append((report, row, report.line(row, wanted["text"], wanted.get("beside", ""))))
        return found

    def _section(self, declared: Mapping[str, Any]) -> dict[str, Any]:
        lines = self._lines(declared)
        return {
            "title": declared["title"],
            "text": declared["text"].strip(),
            "lines": [line for _, _, line in lines],
            "base": _column(lines[0][1]["base"]) if lines else "",
        }

    def readme_reports(self) -> list[Report]:
        """Those that README.md shows something of."""
        return list({report.name: report for report, _, _ in self.readme}.values())


def _column(base: str) -> str:
    """The heading for what is compared with: "zram on mainline" for zram@mainline."""
    return base.replace("@", " on ")


def _noted(path: Path) -> dict[str, dict[str, str]]:
    """The checksums of files by that of all of them; none if there is no such file yet."""
    try:
        found: dict[str, dict[str, str]] = json.loads(path.read_text()) if path.is_file() else {}
        return found
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def load(root: Path) -> Results:
    """What is declared in the checkout ``root``, with the reports and the state of the sources there."""
    try:
        declared = tomllib.loads((root / DECLARATION).read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{DECLARATION} cannot be read: {error}") from error
    current, files = sources.of_files(Store(root / "patches", root / "kernel"))
    kernels = {**_noted(root / KERNELS), current: files}
    today = {name for name, noted in kernels.items() if noted == files}
    reports = {}
    for entry in declared["report"]:
        content = read_json(root / REPORTS / f"{entry['name']}.json")
        notes = [note["text"] for note in entry.get("notes", ()) if note["date"] == content["date"]]
        reports[entry["name"]] = Report(
            entry["name"], entry["title"], entry.get("full", True), notes, content, today
        )
    return Results(declared, reports, kernels, current)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vswaplab.bench"), autoescape=False, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["column"] = _column
    return environment


def plain(root: Path) -> str:
    """The table of README.md as plain text, for the cover letter of the series."""
    found = load(root)
    lines = [line for _, _, line in found.readme]
    rows = [("  mainline with", "mainline", "vswap", "ratio", "")]
    rows += [
        (f"  {line.beside.replace('`', '')}", line.base, line.other, line.ratio, line.verdict) for line in lines
    ]
    head, *aligned = _aligned(rows)
    texts = [f"{line.text}\n{row}" for line, row in zip(lines, aligned, strict=True)]
    return _environment().get_template("cover.txt.j2").render(results=found, head=head, texts=texts)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of columns: the first and the last to the left, figures to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place in (0, len(row) - 1) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _readme(text: str, table: str) -> str:
    """README.md with another table in it. Raises UsageError when the marks are not there."""
    pattern = re.compile(rf"{re.escape(_BEGIN)}\n.*?{re.escape(_END)}\n", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise UsageError(f"{README} needs one pair of lines {_BEGIN} and {_END}")
    return pattern.sub(lambda _: f"{_BEGIN}\n{table}{_END}\n", text)


def pages(root: Path) -> dict[Path, str]:
    """What the files should say that are made from the reports: path below ``root`` and text."""
    found, environment = load(root), _environment()
    page = environment.get_template("results.md.j2").render(results=found, command=COMMAND, theirs=NOTE)
    table = environment.get_template("readme.md.j2").render(results=found)
    kernels = json.dumps(found.kernels, indent=1) + "\n"
    return {
        PAGE: page,
        README: _readme((root / README).read_text(), table),
        comparisonpage.PAGE: comparisonpage.written(root),
        KERNELS: kernels,
    }


def outdated(root: Path) -> list[Path]:
    """Those of them that say something else."""
    return [
        path
        for path, text in pages(root).items()
        if not (root / path).is_file() or (root / path).read_text() != text
    ]
