# SPDX-License-Identifier: GPL-2.0
"""docs/results.md and the table in README.md say what the committed reports say, and of which kernel."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import fakes
from tests.lab import fakes as lab_fakes
from vswaplab import cli, paths
from vswaplab.bench import document, plan, results, resultspage, suites
from vswaplab.bench import sources as kernel_sources
from vswaplab.bench.case import Case
from vswaplab.bench.published import NOTE
from vswaplab.errors import UsageError
from vswaplab.series import stored
from vswaplab.series.stored import Store
from vswaplab.source import linux

SOURCE = "kernel/mm/vswap/a.c"
PATCH = "patches/01-vswap/0001-a.patch"
REAL_SOURCE = linux.cached(paths.cache_dir() / "source")
needs_source = pytest.mark.skipif(REAL_SOURCE is None, reason="no kernel source in the cache")
TOML = """
[[report]]
name = "run"
title = "A run"
notes = [{ date = "never", text = "not of this run" }]
[readme]
rows = [
  { report = "run", suite = "usemem1", setup = "zswap", metric = "real", beside = "zswap", text = "it took" },
]
[[section]]
title = "Headline"
text = "What it is."
of = { report = "run", suite = "usemem1", setup = "zswap" }
rows = [{ metric = "real", text = "time" }]
"""


def store(root: Path) -> Store:
    """The series of a checkout."""
    return Store(root / "patches", root / "kernel")


def checkout(root: Path, rounds: int = 6, **changes: Any) -> dict[str, Any]:
    """A small checkout with a declaration and one report of its kernel; ``changes`` are of the report."""
    adds = [SOURCE, "kernel/Documentation/mm/vswap.rst", "kernel/mm/vswap/tests/a.c"]
    names = " ".join(name.removeprefix("kernel/") for name in adds)
    lab_fakes.write_tree(root, dict.fromkeys(adds, "int a;\n"))
    lab_fakes.write_tree(root, {PATCH: lab_fakes.mail("mm: a", "vswap", adds=names)})
    lab_fakes.write_tree(
        root, {"README.md": f"{resultspage._BEGIN}\n{resultspage._END}\n", "docs/comparison.md": ""}
    )
    (root / resultspage.REPORTS).mkdir(parents=True, exist_ok=True)
    (root / resultspage.DECLARATION).write_text(TOML)
    the_plan = fakes.plan(root, rounds=rounds, warmup=1)
    values = {"mainline": 4.0, "vswap": 2.0}
    found = {
        turn: fakes.good(turn.case, values[turn.kernel] + turn.round / 100)
        for turn in plan.turns(the_plan.cases, fakes.NAMES, rounds + 1)
    }
    rows = results.rows(the_plan.cases, found, fakes.NAMES, 1)
    content = document.document(the_plan, rows, ["bench"]) | changes
    content["kernels"]["vswap"]["sources_sha256"] = kernel_sources.checksum(store(root))
    write(root, content)
    return content


def write(root: Path, content: dict[str, Any]) -> None:
    """Put the report there."""
    document.write_json(content, root / resultspage.REPORTS / "run.json")


def headline(root: Path) -> str:
    """The row of the only section."""
    page = resultspage.pages(root)[resultspage.PAGE]
    return next(line for line in page.splitlines() if line.startswith("| time, s |"))


def test_published_ratios_stand_beside_ours(tmp_path: Path) -> None:
    """In the full tables, of two digits; and no column where there are none."""
    content = checkout(tmp_path)
    page = resultspage.pages(tmp_path)[resultspage.PAGE]
    assert "published" not in page
    theirs = next(row for row in content["results"] if row["metric"] == "real")
    theirs["published"] = [{"source": source, "date": "", "ratio": 0.75, "base": 4, "value": 3} for source in "ab"]
    write(tmp_path, content)
    lines = resultspage.pages(tmp_path)[resultspage.PAGE].splitlines()
    table = [line for line in lines if line.startswith(("| suite |", "| usemem1 |"))]
    assert len({line.count("|") for line in table}) == 1 and "| ratio | published ratio | p |" in table[0]
    assert sum("0.75 a; 0.75 b |" in line for line in table) == 1
    assert " ".join(NOTE.split()) in " ".join(" ".join(lines).split())


@needs_source
def test_the_pages_agree_with_the_reports() -> None:
    root = paths.repo_root()
    old = [str(path) for path in resultspage.outdated(root)]
    assert not old, f"{' and '.join(old)} differ from docs/bench/*.json and kernel/; run: {resultspage.COMMAND}"


def test_every_committed_report_is_declared() -> None:
    root = paths.repo_root()
    declared = tomllib.loads((root / resultspage.DECLARATION).read_text())
    names = {path.stem for path in (root / resultspage.REPORTS).glob("*.json")}
    assert names == {entry["name"] for entry in declared["report"]}


def test_every_suite_is_reported_with_readahead_and_without() -> None:
    """But those that were not run with both yet; isolation has a report of its own."""
    seen: dict[str, set[int]] = {}
    for report in resultspage.load(paths.repo_root()).reports:
        for row in report.rows:
            seen.setdefault(row["suite"], set()).add(row["options"]["page_cluster"])
    both = {suite for suite, clusters in seen.items() if clusters == {0, 3}}
    missing = {"kbuild32", "isolation", "isolation-full"}
    assert both == {suite.name for suite in suites.SUITES if suite.faults} - missing


def test_a_row_says_rounds_warm_up_ratio_verdict_and_kernel(tmp_path: Path) -> None:
    checkout(tmp_path)
    sources = kernel_sources.checksum(store(tmp_path))[:12]
    cells = headline(tmp_path).strip("| ").split(" | ")
    assert cells[1:3] == ["4.035", "2.035"] and cells[3].startswith("0.50 (0.50–0.51")
    assert cells[4:] == ["better", "6", "1", f"`{sources}`"]
    page = resultspage.pages(tmp_path)[resultspage.PAGE]
    assert "not of this run" not in page and "### A run" in page
    assert "| usemem1 | zswap | memcg | free latency |" in page


def test_other_sources_make_a_report_stale(tmp_path: Path) -> None:
    checkout(tmp_path)
    for name in ("kernel/Documentation/mm/vswap.rst", "kernel/mm/vswap/tests/a.c"):
        (tmp_path / name).write_text("more\n")
    assert "stale" not in headline(tmp_path), "documentation and tests are in no kernel"
    (tmp_path / PATCH).write_text((tmp_path / PATCH).read_text().replace("Why.", "In other words."))
    assert "stale" not in headline(tmp_path), "nor is what a commit says"
    (tmp_path / SOURCE).write_text("long a;\n")
    assert headline(tmp_path).endswith("**stale** |")


def test_a_stale_report_says_which_files_have_changed(tmp_path: Path) -> None:
    """As far as they were noted when it was current."""
    content = checkout(tmp_path)
    kernel = content["kernels"]["vswap"]["sources_sha256"][:12]
    before = resultspage.pages(tmp_path)
    (tmp_path / SOURCE).write_text("long a;\n")
    assert f"Since `{kernel}` nobody knows" in resultspage.pages(tmp_path)[resultspage.PAGE]
    (tmp_path / SOURCE).write_text("int a;\n")
    for path, text in before.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert "Since `" not in before[resultspage.PAGE] and resultspage.outdated(tmp_path) == []
    (tmp_path / SOURCE).write_text("long a;\n")
    after = resultspage.pages(tmp_path)
    name = SOURCE.removeprefix("kernel/")
    assert f"Since `{kernel}` these files have changed: {name}.\n" in after[resultspage.PAGE]
    assert f"Changed since `{kernel}`: {name}.\n" in after[resultspage.README]
    assert after[resultspage.KERNELS] == before[resultspage.KERNELS], "what was noted is kept"


def test_a_comment_does_not_make_a_report_stale(tmp_path: Path) -> None:
    """If the code of its kernel was noted; and what looks like a comment in a string is code."""
    checkout(tmp_path)
    for path, text in resultspage.pages(tmp_path).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / SOURCE).write_text("/* Why: \"a\" // is\n * here */\n\nint a; // and so on\n")
    assert "stale" not in headline(tmp_path)
    (tmp_path / SOURCE).write_text("int b; /* not a */\n")
    assert headline(tmp_path).endswith("**stale** |")


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.c", "int a; /* b\n c */\n\n\tint d; // e\n", "int a;\n\tint d;"),
        ("a.h", "char *s = \"/* \\\" // */\", c = '\"'; /* ' */\n", "char *s = \"/* \\\" // */\", c = '\"';"),
        ("Makefile", "# a\n\nobj-y := /*\n", "# a\n\nobj-y := /*\n"),
    ],
)
def test_code_is_what_is_no_comment(name: str, text: str, code: str) -> None:
    assert kernel_sources.code(name, text.encode()) == code.encode()


def test_a_report_without_a_checksum_says_so(tmp_path: Path) -> None:
    content = checkout(tmp_path)
    del content["kernels"]["vswap"]["sources_sha256"]
    write(tmp_path, content)
    assert headline(tmp_path).endswith("| not recorded |")


def test_few_rounds_give_no_verdict_whatever_an_old_report_says(tmp_path: Path) -> None:
    content = checkout(tmp_path, rounds=3)
    for row in content["results"]:
        row |= {"verdict": "better", "ci95": [0.4, 0.6]}
    write(tmp_path, content)
    assert "| 0.50 | too few rounds | 3 | 1 |" in headline(tmp_path)


def test_six_rounds_are_too_few_for_many_comparisons(tmp_path: Path) -> None:
    """24 comparisons need seven rounds: none of them could have been found to differ."""
    content = checkout(tmp_path)
    assert "better" in headline(tmp_path)
    row = content["results"][0]
    content["results"] += [row | {"metric": f"another {number}"} for number in range(24)]
    write(tmp_path, content)
    assert "| too few rounds | 6 |" in headline(tmp_path)


def test_a_failed_kernel_is_named_by_what_came_of_it(tmp_path: Path) -> None:
    content = checkout(tmp_path)
    for row in content["results"]:
        row["kernels"]["vswap"] |= {"n": 0, "median": None, "status": "oom"}
        row |= {"ratio": None, "ci95": None}
    write(tmp_path, content)
    assert "| oom | - | not measured | 0 and 6 |" in headline(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('metric = "real", text', 'metric = "unreal", text', "no row in run.json"),
        ('metric = "real", text', 'metric = "real", colour = "red", text', "colour"),
        ('of = { report = "run"', 'of = { report = "walk"', "walk"),
        ("[[section]]", "[[section", "cannot be read"),
    ],
)
def test_a_declaration_that_does_not_fit(tmp_path: Path, old: str, new: str, said: str) -> None:
    checkout(tmp_path)
    (tmp_path / resultspage.DECLARATION).write_text(TOML.replace(old, new))
    with pytest.raises(UsageError, match=said):
        resultspage.pages(tmp_path)


def test_a_row_that_two_pressures_have(tmp_path: Path) -> None:
    content = checkout(tmp_path)
    content["results"] += [{**row, "pressure": "global"} for row in content["results"]]
    write(tmp_path, content)
    with pytest.raises(UsageError, match="more than one row"):
        resultspage.pages(tmp_path)


def test_readme_keeps_what_is_around_the_table(tmp_path: Path) -> None:
    checkout(tmp_path)
    readme = tmp_path / resultspage.README
    readme.write_text(f"before\n{readme.read_text()}after\n")
    text = resultspage.pages(tmp_path)[resultspage.README]
    assert text.startswith("before\n<!--") and text.endswith("-->\nafter\n") and "| it took, s | zswap |" in text
    readme.write_text(text)
    assert resultspage.README not in resultspage.outdated(tmp_path)
    readme.write_text("no table\n")
    with pytest.raises(UsageError, match="README.md needs"):
        resultspage.pages(tmp_path)


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    monkeypatch.setattr(paths, "repo_root", lambda: tmp_path)
    assert cli.main(["report", "--results"]) == 0
    assert (
        capsys.readouterr().out
        == "docs/results.md written\nREADME.md written\ndocs/bench/kernels/files.json written\n"
    )
    assert cli.main(["report", "--results"]) == 0 and capsys.readouterr().out == ""
    assert cli.main(["report", "--results", "a.json"]) == 2 and cli.main(["report"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


@needs_source
def test_the_lab_s_kernels_are_recorded(tmp_path: Path) -> None:
    mainline, vswap, off = (kernel_sources.of_lab(name) for name in ("mainline", "vswap", "vswap-off"))
    assert vswap == off == kernel_sources.checksum(stored.ours()) != mainline
    the_plan = fakes.plan(tmp_path, Case("exit", "zswap", "memcg"))
    known = {key: replace(found, sources=vswap) for key, found in the_plan.kernels.items() if key[0] == "vswap"}
    the_plan = replace(the_plan, kernels={**the_plan.kernels, **known})
    recorded = document.document(the_plan, [], ["bench"])["kernels"]
    assert (recorded["vswap"]["sources_sha256"], recorded["mainline"]["sources_sha256"]) == (vswap, "")
