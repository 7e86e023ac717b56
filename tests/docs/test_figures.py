# SPDX-License-Identifier: GPL-2.0
"""Figures in prose are those of the reports, or say that there is none: see docs/bench/figures.toml."""

import fnmatch
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from vswaplab import paths
from vswaplab.bench import resultspage
from vswaplab.bench.document import read_json
from vswaplab.bench.resultspage import Report

ROOT = paths.repo_root()
DECLARED = tomllib.loads((ROOT / "docs/bench/figures.toml").read_text())["figure"]
WHOLE = ("README.md", "docs/admin.md", "docs/comparison.md")  # of these every figure is declared
KINDS = ("row", "sum", "by_hand", "setting")

WORDS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "ten": "10"}
NUMBER = rf"\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(WORDS)})\b"
UNIT = r"%|(?:percent|times|bytes?|[KMG]?B|[mµ]?s|(?:second|minute|hour|instruction|run|round|major fault)s?)\b"
# A number with a unit, a ratio such as 3:1, or one with a point that is no version ("7.3", "since 7.1").
FIGURE = re.compile(rf"(?<![\w.,-])(?:(?:{NUMBER})\s*(?:{UNIT}|:1\b)|(?!7\.\d\b)\d+\.\d+(?!\w|\.\d))")
# What is not prose, or is compared elsewhere.
LEFT_OUT = (
    rf"{re.escape(resultspage._BEGIN)}.*?{re.escape(resultspage._END)}",  # test_resultspage.py
    r"^\|[^\n]*\]\(bench/[\w.-]+\.json\)[^\n]*$",  # test_comparison.py
    r"^\| \| swapcheck on vswap.*?\n\n",  # test_demonstration()
    r"^```.*?^```", r"^    [^\n]*$",
)  # fmt: skip
DEMONSTRATION = "by hand at commit 11c602b"


def flat(text: str) -> str:
    """In one line."""
    return " ".join(text.split())


def prose(text: str) -> str:
    """What a page says in its own words; code in a line stands for its name and is no figure."""
    for pattern in LEFT_OUT:
        text = re.sub(pattern, "", text, flags=re.DOTALL | re.MULTILINE)
    return flat(text)


def undeclared(text: str, declared: list[str]) -> list[str]:
    """Figures of a page that no declared text has."""
    page = prose(text)
    for words in declared:
        page = page.replace(words, " ")
    page = re.sub(r"`[^`]*`", " x ", page)
    return [page[max(0, match.start() - 40) : match.end() + 20] for match in FIGURE.finditer(page)]


def numbers(text: str) -> list[str]:
    """All of a declared text, as digits."""
    plain = re.sub(r"`[^`]*`", "", text)
    return [WORDS.get(found, found).replace(",", "") for found in re.findall(NUMBER, plain)]


def like(shown: str, value: float) -> str:
    """The value, as precise as what is shown."""
    return f"{value:.{len(shown.partition('.')[2])}f}"


def value(row: Mapping[str, Any], name: str) -> float:
    """What "as" says of a row."""
    if name in ("ratio", "percent"):
        return float(row["ratio"]) if name == "ratio" else (float(row["ratio"]) - 1) * 100
    return float(row["kernels"][name]["median"])


def result(sum_: str) -> float:
    first, sign, second = sum_.split()
    return float(first) / float(second) if sign == "/" else float(first) * float(second)


def problem(entry: Mapping[str, Any], text: str, row: Mapping[str, Any] | None) -> str | None:
    """What is wrong with a declared text; ``row`` is the one it names."""
    shown = numbers(text)
    if row is not None:
        if len(shown) != len(entry["as"]):
            return f"{len(shown)} figures, and {len(entry['as'])} names"
        named = zip(shown, entry["as"], strict=True)
        expected = [like(figure, value(row, name)) if name else figure for figure, name in named]
        return None if shown == expected else f"says {shown}, the report {expected}"
    if "sum" in entry:
        expected = [like(shown[-1], result(entry["sum"]))]
        return None if shown[-1:] == expected else f"says {shown[-1]}, it is {expected}"
    words = [f"measured by hand at commit {name}, no report" for name in entry.get("by_hand", ())]
    missing = [said for said in words if said not in text]
    return f"does not say how it was measured: {missing}" if missing else None


def load(name: str) -> Report:
    return Report(name, "", False, (), read_json(ROOT / resultspage.REPORTS / f"{name}.json"), "")


@pytest.mark.parametrize("entry", DECLARED, ids=lambda entry: f"{entry['in']}: {flat(entry['text'])[:50]}")
def test_figure(entry: dict[str, Any]) -> None:
    assert [kind for kind in KINDS if kind in entry] == [kind for kind in entry if kind in KINDS][:1]
    files = list(ROOT.glob(entry["in"]))
    assert len(files) == 1, f"{len(files)} files {entry['in']}"
    text = flat(entry["text"])
    assert flat(files[0].read_text()).count(text) == 1, f"not once in {entry['in']}: {text}"
    row = resultspage.find(load(entry["row"]["report"]), entry["row"]) if "row" in entry else None
    assert problem(entry, text, row) is None


@pytest.mark.parametrize("page", WHOLE)
def test_every_figure_is_declared(page: str) -> None:
    declared = [flat(entry["text"]) for entry in DECLARED if fnmatch.fnmatch(page, entry["in"])]
    assert undeclared((ROOT / page).read_text(), declared) == []


def test_demonstration() -> None:
    """The table in README.md has rows of the one in docs/run.md; both say that there is no report."""

    def cells(line: str, sign: str) -> list[str]:
        return [cell.strip() for cell in line.strip().strip(sign).split(sign)]

    readme, page = (ROOT / "README.md").read_text(), (ROOT / "docs/run.md").read_text()
    whole = [cells(line, "│") for line in page.splitlines() if line.startswith("    │")]
    table = re.search(r"^\| \| swapcheck on vswap.*?\n\n", readme, re.DOTALL | re.MULTILINE)
    assert table
    rows = [cells(line, "|") for line in table[0].strip().splitlines()[2:]]
    rows = [[name.replace("metadata per slot", "per slot"), *figures] for name, *figures in rows]
    assert len(rows) >= 4 and [row for row in rows if row not in whole] == []
    assert DEMONSTRATION in flat(readme) and DEMONSTRATION in flat(page)


ROW = {"ratio": 1.015, "kernels": {"mainline": {"median": 83.67}, "vswap": {"median": 26.14}}}


@pytest.mark.parametrize(("entry", "text", "good"), [
    ({"as": ["percent"]}, "costs 1.5 % more", True),
    ({"as": ["percent"]}, "costs 1.4 % more", False),
    ({"as": ["vswap", "mainline"]}, "26 B, not 83.7", True),
    ({"as": ["vswap", "mainline"]}, "26 B, not 83", False),
    ({"as": ["ratio"]}, "1.0 times, or 2", False),
    ({"sum": "100 / 3"}, "at 3:1 33 %", True),
    ({"sum": "100 / 3"}, "at 3:1 34 %", False),
    ({"by_hand": ["abc"]}, "3 s (measured by hand at commit abc, no report)", True),
    ({"by_hand": ["abc"]}, "3 s (measured by hand at commit abd, no report)", False),
    ({"setting": "x"}, "256 MB", True),
])  # fmt: skip
def test_what_disagrees_is_found(entry: dict[str, Any], text: str, good: bool) -> None:
    assert (problem(entry, text, ROW if "as" in entry else None) is None) == good


@pytest.mark.parametrize("text", [
    "takes 12 bytes", "1.5 % more", "0.94 of it", "at 3:1", "three times as much", "1,234 MB", "took ten\nminutes",
])  # fmt: skip
def test_a_new_figure_is_found(text: str) -> None:
    assert len(undeclared(f"The page {text}, it says.", [])) == 1
    assert undeclared(f"The page {text}, it says.", [flat(text)]) == []


@pytest.mark.parametrize("text", ["on Linux 7.3 and", "`--mem 96M`", "Debian 12", "entry (V, v)", "\n    12 MB\n"])
def test_what_is_no_figure(text: str) -> None:
    assert undeclared(f"It says {text}\n", []) == []
