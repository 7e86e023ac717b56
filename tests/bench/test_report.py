# SPDX-License-Identifier: GPL-2.0
"""JSON, page and comparison: failed rounds are shown, nothing of the machine's own names is."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import fakes
from vswaplab import cli, paths
from vswaplab.bench import compare, display, document, host, html, plan, results, suites
from vswaplab.bench.case import Case
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.published import NOTE, Published
from vswaplab.bench.row import Row
from vswaplab.errors import UsageError

BAD = Case("exit", "zswap", "memcg")


def made(tmp_path: Path, better: float = 0.8, cases: Sequence[Case] = (fakes.CASE, BAD)) -> dict[str, Any]:
    """The document of a run with a good case and one that failed on mainline."""
    the_plan = fakes.plan(tmp_path, *cases)
    rounds = {}
    for turn in plan.turns(the_plan.cases, fakes.NAMES, 8):
        value = 100.0 + turn.round if turn.kernel == "mainline" else better * (100.0 + turn.round)
        rounds[turn] = fakes.good(turn.case, value)
        if turn.case == BAD and turn.kernel == "mainline":
            rounds[turn] = Outcome("oom", "killed: swapped")
    rows = results.rows(the_plan.cases, rounds, fakes.NAMES, 1)
    return document.document(the_plan, rows, ["bench", "--kernel", "x=/home/me/tree", "--json", "/tmp/a.json"])


def row(content: Mapping[str, Any], suite: str) -> Mapping[str, Any]:
    """The first metric of a suite."""
    return next(entry for entry in content["results"] if entry["suite"] == suite)


def test_a_failed_case_is_not_missing(tmp_path: Path) -> None:
    found = row(made(tmp_path), "exit")
    assert found["status"] == "oom" and found["ratio"] is None and found["verdict"] == "not measured"
    assert found["kernels"]["mainline"] | {"failures": []} == {
        "n": 0, "mean": None, "stdev": None, "median": None, "status": "oom", "failures": [], "values": [],
    }  # fmt: skip
    assert found["kernels"]["mainline"]["failures"] == ["oom: killed: swapped (7 of 7)"]
    assert found["kernels"]["vswap"]["n"] == 7


def test_the_page_holds_everything(tmp_path: Path) -> None:
    page = html.page(made(tmp_path))
    assert page.count("<svg") >= 2 and "oom: killed: swapped (7 of 7)" in page
    assert "usemem1" in page and "free latency" in page and "7.3.4-vswap" in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page), "nothing is fetched from elsewhere"
    assert "<script" not in page
    assert "/home/me" not in page and str(tmp_path) not in page and "x=tree" in page


def shown(content: Mapping[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed of a report."""
    display.show_report(content)
    return capsys.readouterr().out.replace("\n", " ")


def test_the_page_and_the_terminal_show_what_was_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = made(tmp_path)
    assert "published:" not in html.page(content)
    assert "published" not in shown(content, capsys)
    found = [Published("somebody", "2026-05-05", 0.75, 400.0, 300.0), Published("anybody", "", 1.002)]
    row(content, "usemem1")["published"] = [asdict(figure) for figure in found]  # type: ignore[index]
    page = html.page(content)
    assert page.count("published ratio</th>") == 1 and "<td>0.750 somebody<br>1.002 anybody</td>" in page
    assert page.count("published: somebody, 2026-05-05") == 1 and page.count("published: anybody") == 1
    assert page.count('<td class="num">0.750 (400 → 300)</td>') == 1 and page.count("1.002</td>") == 1
    assert page.count(NOTE) == 1, "theirs beside ours: what can be compared is said"
    text = shown(content, capsys)
    assert text.count(NOTE) == 1 and "0.750 somebody" in text and "1.002 anybody" in text
    assert "published for usemem1 / zswap / memcg, throughput: 400 → 300 MB/s (somebody, 2026-05-05)" in text


def test_reports_of_before_get_what_is_published_now(tmp_path: Path) -> None:
    """But not where nothing of the kind is compared: two runs, or another set-up."""
    case = Case("usemem1", "zswap", "global")
    content = made(tmp_path, cases=[case])
    recorded = [entry["published"] for entry in content["results"]]
    assert sum(map(len, recorded)) == 2
    for entry in content["results"]:
        entry["published"] = {}
    document.write_json(content, tmp_path / "a.json")
    found = document.read_json(tmp_path / "a.json")
    assert [entry["published"] for entry in found["results"]] == json.loads(json.dumps(
        [[asdict(figure) for figure in suites.find("usemem1").published(case, metric.name)]
         for metric in suites.find("usemem1").metrics]
    ))  # fmt: skip
    compared = compare.runs(found, found, "a", "b")
    document.write_json(compared, tmp_path / "b.json")
    assert not any(entry["published"] for entry in document.read_json(tmp_path / "b.json")["results"])


def test_the_tuned_page_cluster_is_the_headline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = made(tmp_path, cases=[replace(fakes.CASE, page_cluster=value) for value in (3, 0)])
    rows = [Row.from_json(entry) for entry in content["results"]]
    first, rest = results.headline(rows)
    assert [{entry.options["page_cluster"] for entry in part} for part in (first, rest)] == [{0}, {3}]
    page = html.page(content)
    summary, others = page.split("Other values of vm.page-cluster")
    assert "page-cluster 0" in summary and "page-cluster 3" not in summary.split("<h2>Summary")[1]
    assert "page-cluster 3" in others
    for text in ("<b>3</b><span>better</span>", "<b>1</b><span>worse</span>"):
        assert text in page, "the tiles count the headline alone: its four rows"
    display.show(rows, content["order"])
    out = capsys.readouterr().out
    assert out.index("page-cluster 0") < out.index("page-cluster 3")


def test_without_the_tuned_one_everything_is_the_headline(tmp_path: Path) -> None:
    content = made(tmp_path, cases=[replace(fakes.CASE, page_cluster=3)])
    rows = [Row.from_json(entry) for entry in content["results"]]
    assert results.headline(rows) == (rows, [])
    assert "Other values" not in html.page(content) and "page-cluster 3" in html.page(content)


def test_too_few_rounds_are_said_on_the_page(tmp_path: Path) -> None:
    content = made(tmp_path)
    assert "comparisons need" not in html.page(content)
    more = [{**entry, "metric": f"{entry['metric']} {n}"} for n in range(20) for entry in content["results"]]
    content["results"] = more
    assert "80 comparisons" not in html.page(content), "80 are not too many for seven rounds"
    content["results"] = [*more, *content["results"]]
    assert "160 comparisons need 8 rounds" in html.page(content)


@pytest.mark.parametrize("name", ["metadata-x86_64", "quick-um", "zram-um"])
def test_published_reports_can_still_be_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one round, with two values of page-cluster, and with another set-up to compare with."""
    file = str(paths.repo_root() / f"docs/bench/{name}.json")
    assert cli.main(["report", file]) == 0 and cli.main(["report", file, file]) == 0
    assert "mainline" in capsys.readouterr().out


def test_the_page_escapes_what_it_is_told(tmp_path: Path) -> None:
    content = made(tmp_path)
    content["results"][-1]["kernels"]["mainline"]["failures"] = ["<script>alert(1)</script>"]
    assert "<script" not in html.page(content)


def test_a_row_comes_back_from_json(tmp_path: Path) -> None:
    for entry in made(tmp_path)["results"]:
        assert Row.from_json(json.loads(json.dumps(entry))).to_json() == entry


def test_the_same_data_gives_the_same_page(tmp_path: Path) -> None:
    content = made(tmp_path)
    assert html.page(content) == html.page(json.loads(json.dumps(content)))


def test_json_comes_back(tmp_path: Path) -> None:
    content = made(tmp_path)
    document.write_json(content, tmp_path / "a.json")
    assert document.read_json(tmp_path / "a.json") == json.loads(json.dumps(content))
    assert set(document.KEYS) <= set(content)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"results": []}'])
def test_what_is_no_report(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match="a.json"):
        document.read_json(tmp_path / "a.json")


def test_two_runs_are_compared_kernel_by_kernel(tmp_path: Path) -> None:
    found = compare.runs(made(tmp_path, 0.8), made(tmp_path, 0.4), "a", "b")
    rows = [entry for entry in found["results"] if entry["metric"] == "free latency"]
    assert [entry["setup"] for entry in rows] == ["zswap (mainline)", "zswap (vswap)"]
    assert [entry["ratio"] for entry in rows] == [pytest.approx(1.0), pytest.approx(0.5)]
    assert [entry["verdict"] for entry in rows] == ["no difference measured", "better"]
    assert [entry["p_holm"] for entry in rows] == [1.0, pytest.approx(9 * 2 / 3432, rel=1e-4)], "of nine rows"
    assert compare.differences(found) == []
    assert "zswap (vswap)" in html.page(found)


def test_runs_of_different_sizes_are_said_to_be(tmp_path: Path) -> None:
    old, new = made(tmp_path), made(tmp_path)
    new["options"]["cpus"] = 1
    assert any("cpus" in text for text in compare.differences(compare.runs(old, new, "a", "b")))
    old["results"] = []
    with pytest.raises(UsageError, match="in common"):
        compare.runs(old, new, "a", "b")


def test_a_run_named_like_a_kernel_is_compared_in_its_order(tmp_path: Path) -> None:
    page = html.page(compare.runs(made(tmp_path), made(tmp_path), "vswap", "mainline"))
    assert "mainline / vswap" in page and "vswap / mainline" not in page


def test_the_command_line_names_no_directory() -> None:
    words = ["bench", "--kernel", "theirs=/home/me/patches", "--json=/tmp/x.json", "usemem1"]
    assert host.command_line(words) == "./vswap bench --kernel theirs=patches --json=x.json usemem1"


def test_report_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, page = tmp_path / "a.json", tmp_path / "a.html"
    document.write_json(made(tmp_path), first)
    assert cli.main(["report", str(first), str(first), "--html", str(page)]) == 0
    assert "no difference measured" in capsys.readouterr().out and page.is_file()
    assert cli.main(["report", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
