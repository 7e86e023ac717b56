# SPDX-License-Identifier: GPL-2.0
"""Comparison across set-ups: which cases, in which order, and what the report says."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import fakes
from vswaplab import cli
from vswaplab.bench import against, check, compare, display, document, html, plan, results, round, selection
from vswaplab.bench.against import MEASURED, Reference
from vswaplab.bench.case import Case, Options
from vswaplab.bench.judge import judge
from vswaplab.bench.selection import Selection
from vswaplab.bench.setup import ROOMY
from vswaplab.build import workloads
from vswaplab.commands import bench
from vswaplab.errors import UsageError

ZRAM = Reference("zram", "mainline")
GLOBAL = Case("usemem1", "zswap", "global", "lzo")
PARTNER = replace(GLOBAL, setup="zram")
MEMCG = replace(GLOBAL, pressure="memcg")


def made(tmp_path: Path, *cases: Case) -> dict[str, Any]:
    """The document of a run in which virtual swap halves every figure and zram takes a tenth more."""
    found = against.with_reference(cases, ZRAM)
    the_plan = fakes.plan(tmp_path, *found, rounds=7, against=str(ZRAM))
    rounds = {}
    for turn in the_plan.turns():
        value = 100.0 + turn.round
        if turn.case.setup == "zram":
            value *= 1.1
        rounds[turn] = fakes.good(turn.case, value if turn.kernel == "mainline" else value / 2)
    rows = results.rows(found, rounds, fakes.NAMES, 1)
    beside = against.rows(found, rounds, fakes.NAMES, 1, ZRAM)
    judge(rows + beside)
    section = {
        "base": str(ZRAM), "order": [str(ZRAM), MEASURED], "results": beside,
        "left_out": against.left_out(found, ZRAM),
    }  # fmt: skip
    return document.document(the_plan, rows, ["bench"], against=section)


def test_every_case_gets_its_partner_once() -> None:
    cases = [GLOBAL, replace(GLOBAL, setup="disk"), replace(GLOBAL, page_cluster=0)]
    found = against.with_reference(cases, ZRAM)
    assert found == [
        GLOBAL, PARTNER, replace(GLOBAL, setup="disk"),
        replace(GLOBAL, page_cluster=0), replace(PARTNER, page_cluster=0),
    ]  # fmt: skip
    assert against.with_reference(found, ZRAM) == found


def test_set_ups_take_turns_as_kernels_do() -> None:
    found = list(plan.turns([GLOBAL, PARTNER], ["a", "b"], 2, together=True))
    assert [(turn.case.setup, turn.kernel, turn.round) for turn in found] == [
        ("zswap", "a", 0), ("zswap", "b", 0), ("zram", "a", 0), ("zram", "b", 0),
        ("zram", "b", 1), ("zram", "a", 1), ("zswap", "b", 1), ("zswap", "a", 1),
    ]  # fmt: skip
    apart = list(plan.turns([GLOBAL, replace(PARTNER, page_cluster=0)], ["a"], 2, together=True))
    assert [turn.round for turn in apart] == [0, 1, 0, 1], "what differs in more is not compared"


def test_a_run_with_a_reference_is_another_run(tmp_path: Path) -> None:
    """Rounds that did not alternate must not be taken for such that did."""
    plain, compared = (fakes.plan(tmp_path, GLOBAL, PARTNER, against=text) for text in ("", str(ZRAM)))
    assert plain.identity() != compared.identity()
    assert {turn.key for turn in plain.turns()} == {turn.key for turn in compared.turns()}


def test_a_group_is_not_compared_with_zram() -> None:
    cases = [GLOBAL, MEMCG, Case("swapoff", "disk", "memcg")]
    assert against.with_reference(cases, ZRAM) == [GLOBAL, PARTNER, *cases[1:]]
    said = against.left_out(cases, ZRAM)
    reason = "zram's memory is not charged to the group that has the limit"
    assert len(said) == 2 and said[0] == f"{MEMCG.title}: {reason}"
    with pytest.raises(UsageError, match="nothing can be compared: zram's memory is not charged"):
        against.with_reference([MEMCG], ZRAM)
    both_charged = Reference("disk", "mainline")
    assert against.pairs([MEMCG], both_charged) == [(MEMCG, replace(MEMCG, setup="disk"))]
    assert against.left_out([replace(MEMCG, setup="zram")], both_charged), "nor zram with what is charged"


def test_limits_that_differ_are_not_compared() -> None:
    cases = [GLOBAL, replace(GLOBAL, setup="zswap-full")]
    assert against.with_reference(cases, ZRAM) == [GLOBAL, PARTNER, cases[1]]
    assert against.left_out(cases, ZRAM) == [f"{cases[1].title}: the limits on compressed memory differ"]


def test_a_suite_that_makes_no_sense_there_is_left_out() -> None:
    case = Case("swapoff", "disk", "memcg")
    assert "makes no sense in the set-up zswap" in against.left_out([case], Reference("zswap", "mainline"))[0]


@pytest.mark.parametrize("text", ["zram", "zram@", "zram@windows", "nonsense@mainline", "@mainline"])
def test_references_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        against.parse(text, fakes.NAMES)


@pytest.mark.usefixtures("cache")
def test_the_command_refuses_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "usemem1", "--pressure", "memcg", "--against", "zram@mainline"]) == 2
    said = capsys.readouterr().err
    assert "zram's memory is not charged" in said and said.count("\n") == 1


def test_every_kernel_beside_the_reference(tmp_path: Path) -> None:
    content = made(tmp_path, GLOBAL, MEMCG)
    rows = [row for row in content["against"]["results"] if row["metric"] == "free latency"]
    assert [row["setup"] for row in rows] == ["zswap, lzo on mainline", "zswap, lzo on vswap"]
    assert [row["ratio"] for row in rows] == [pytest.approx(1 / 1.1, rel=1e-4), pytest.approx(0.5 / 1.1, rel=1e-4)]
    assert rows[1]["verdict"] == "better" and rows[1]["kernels"]["zram@mainline"]["n"] == 7
    # three cases of four metrics on two kernels, and four metrics of each kernel against zram
    assert rows[1]["p_holm"] == pytest.approx(20 * 2 / 3432, rel=1e-4)


def test_the_report_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = made(tmp_path, GLOBAL, MEMCG)
    page = html.page(content)
    assert "<h2>Against zram@mainline</h2>" in page and "zswap, lzo on vswap" in page
    assert f"Not compared: {MEMCG.title}" in page
    display.show_report(content)
    out = capsys.readouterr().out
    assert "Against zram@mainline" in out and "not compared with zram@mainline" in out
    assert "Against" not in html.page(compare.runs(content, content, "a", "b"))


def test_an_unfinished_reference_is_not_compared_with(tmp_path: Path) -> None:
    assert against.rows([GLOBAL], {}, fakes.NAMES, 1, ZRAM) == []


def test_more_comparisons_need_more_rounds() -> None:
    cases = selection.cases(Selection(["usemem1"], ["zswap"], ["global"]), "um")
    found = against.with_reference(cases, ZRAM)
    compared = [case for case, _ in against.pairs(found, ZRAM)]
    assert compared == cases and check.comparisons(found, 2) == 8 and check.comparisons(found, 2, compared) == 16
    few = [text for text in check.warnings(1, 16, 5) if "comparisons" in text]
    assert few == ["16 comparisons need 6 rounds or more for a verdict on any of them, not 5"]
    assert not [text for text in check.warnings(1, 16, 6) if "comparisons" in text]


def test_zram_has_the_limit_of_zswaps_pool(tmp_path: Path) -> None:
    for name in fakes.NAMES:
        kernel = fakes.kernel(name, tmp_path)
        zram, zswap = (round.spec(case, kernel, Options(), tmp_path) for case in (PARTNER, GLOBAL))
        assert zram.compressor == zswap.compressor == "lzo" and zram.mem_bytes == zswap.mem_bytes
        assert zswap.pool_percent == ROOMY and f"$2 * {ROOMY} / 100" in zram.script.split("begin\n")[0]
        assert "/sys/block/zram0/mem_limit" in zram.script and "mem_limit" not in zswap.script


@pytest.mark.usefixtures("cache")
def test_the_whole_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line to the files, with guests that answer at once."""
    guests = fakes.Guests()
    kernels = {(name, "release"): replace(fakes.kernel(name, tmp_path), config="") for name in fakes.NAMES}
    monkeypatch.setattr(bench, "_kernels", lambda *_: kernels)
    monkeypatch.setattr(bench, "boot", guests)
    monkeypatch.setattr(workloads, "build", lambda: tmp_path)
    monkeypatch.setattr(check, "room", lambda _specs: None)
    target = tmp_path / "out.json"
    words = "bench usemem1 --setups zswap --against zram@mainline --page-cluster 0".split()
    assert cli.main([*words, "--json", str(target), "--html", str(tmp_path / "out.html")]) == 0
    # zswap under both pressures and zram under one, on two kernels; 20 comparisons take 6 rounds, and a warm-up
    assert len(guests.specs) == 3 * 2 * 7
    assert {spec.compressor for spec in guests.specs} == {"lzo"}
    content = document.read_json(target)
    assert content["options"]["against"] == "zram@mainline" and content["against"]["base"] == "zram@mainline"
    assert {row["pressure"] for row in content["against"]["results"]} == {"global"}
    (left_out,) = content["against"]["left_out"]
    assert left_out.startswith("usemem1 / zswap, lzo, page-cluster 0 / memcg: zram's memory is not charged")
    said = capsys.readouterr()
    assert "Against zram@mainline" in said.out and "comparisons need" not in said.err
    assert cli.main([*words, "--rounds", "5"]) == 0
    assert "20 comparisons need 6 rounds" in capsys.readouterr().err
