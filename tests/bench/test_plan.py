# SPDX-License-Identifier: GPL-2.0
"""Cases, turns, sizes, and the guests that are made of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import fakes
from vswaplab.bench import plan, round, selection, setup, suites
from vswaplab.bench.case import Case, Options
from vswaplab.bench.selection import QUICK, Selection
from vswaplab.bench.suite import PRESSURES
from vswaplab.bench.suites import kbuild
from vswaplab.errors import UsageError

MIB = 1 << 20


def test_kernels_take_turns_and_change_their_order() -> None:
    found = list(plan.turns([fakes.CASE], ["a", "b"], 3))
    assert [(turn.kernel, turn.round) for turn in found] == [
        ("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2),
    ]  # fmt: skip
    assert len({turn.key for turn in found}) == 6


def test_what_does_not_vary_runs_once_and_counts() -> None:
    found = list(plan.turns([replace(fakes.CASE, suite="metadata")], ["a", "b"], 4))
    assert [(turn.kernel, turn.round) for turn in found] == [("b", 3), ("a", 3)]


def test_everything_has_a_name_that_exists() -> None:
    names = [suite.name for suite in suites.SUITES]
    assert len(set(names)) == len(names)
    for suite in suites.SUITES:
        for name in (*suite.setups, *suite.without):
            setup.find(name)
        assert suite.metrics and suite.summary and set(suite.pressures) <= {*PRESSURES, "none"}
        assert not set(suite.setups or setup.USUAL) & set(suite.without) or not suite.setups
    for name, where, pressure in QUICK:
        suite = suites.find(name)
        assert setup.find(where) and pressure in suite.pressures and where not in suite.without


def test_a_selection_is_the_product_of_its_parts() -> None:
    chosen = Selection(["usemem1"], ["zswap", "disk"], ["memcg"], ["lz4", "zstd"], [True, False])
    found = selection.cases(chosen, "um")
    assert len(found) == 8 and len({case.title for case in found}) == len({case.key for case in found}) == 8
    assert "zswap, lz4, MGLRU on" in {case.setup_label for case in found}


def test_page_clusters_multiply_what_faults() -> None:
    """Both by default on the command line; the swap layer alone reads nothing ahead."""
    found = selection.cases(Selection(["touch", "micro"], ["zswap"], ["memcg"], page_clusters=[3, 0]), "um")
    assert [(case.suite, case.page_cluster) for case in found] == [("touch", 3), ("touch", 0), ("micro", None)]
    assert len({case.title for case in found}) == len({case.key for case in found}) == 3
    assert found[1].setup_label == "zswap, page-cluster 0"
    quick = selection.cases(Selection(quick=True, page_clusters=selection.PAGE_CLUSTERS), "um")
    assert len(quick) == 2 * len(QUICK)


def test_a_suite_published_with_mglru_runs_with_it() -> None:
    found = selection.cases(Selection(["usemem52"], pressures=["global"]), "um")
    assert [(case.setup, case.mglru) for case in found] == [("zswap", True), ("zram", True)]
    assert {case.mglru for case in selection.cases(Selection(["usemem52"], mglru=[False]), "um")} == {False}
    assert {case.mglru for case in selection.cases(Selection(["usemem48"]), "um")} == {None}


def test_what_compressed_memory_cannot_hold_is_not_asked_of_it() -> None:
    """Three times the memory, of pages that compress to a half."""
    found = {case.setup for case in selection.cases(Selection(["usemem48"]), "um")}
    assert found == {"pmem", "disk"}
    with pytest.raises(UsageError, match="nothing to run"):
        selection.cases(Selection(["usemem48"], ["zswap", "zram"]), "um")


def test_both_kernels_are_told_the_page_cluster(tmp_path: Path) -> None:
    case = replace(fakes.CASE, page_cluster=0)
    for name in fakes.NAMES:
        kernel = fakes.kernel(name, tmp_path)
        text = round.spec(case, kernel, Options(), tmp_path).script
        assert text.index("echo 0 > /proc/sys/vm/page-cluster") < text.index("begin\n")
        assert "page-cluster" not in round.spec(fakes.CASE, kernel, Options(), tmp_path).script


def test_a_suite_says_where_it_makes_no_sense() -> None:
    with pytest.raises(UsageError, match="nothing to run"):
        selection.cases(Selection(["swapoff"], ["zswap"]), "um")
    assert {case.pressure for case in selection.cases(Selection(["swapoff"]), "um")} == {"memcg"}


def test_the_quick_suite_can_be_narrowed() -> None:
    found = selection.cases(Selection(["usemem1", "exit"], quick=True), "um")
    assert {case.suite for case in found} == {"usemem1", "exit"} and len(found) == 4
    assert len(selection.cases(Selection(quick=True), "um")) == len(QUICK)


@pytest.mark.parametrize(("suite", "setups"), [("nonsense", None), ("usemem1", ["nonsense"])])
def test_names_that_do_not_exist(suite: str, setups: list[str] | None) -> None:
    with pytest.raises(UsageError, match="nonsense"):
        selection.cases(Selection([suite], setups), "um")


def test_sizes_follow_the_limit() -> None:
    limit, working_set = 256 * MIB, 448 * MIB
    memcg = setup.sizes(setup.find("zswap"), "memcg", limit, working_set, "none")
    assert memcg.mem > 2 * limit and memcg.device == 0
    alone = setup.sizes(setup.find("disk"), "global", limit, working_set, "file")
    assert alone.mem == limit and alone.device > working_set
    full = setup.sizes(setup.find("zswap-full"), "global", limit, working_set, "file")
    # what does not fit into RAM, compressed to a third, must not fit into the pool
    assert full.pool_percent / 100 * full.mem < (working_set - limit) / 3
    ram = setup.sizes(setup.find("pmem"), "global", limit, working_set, "ram")
    assert ram.mem - ram.device == limit


def differing() -> list[Case]:
    """Every suite, and every set-up under every pressure, in as few cases as that takes."""
    seen: set[object] = set()
    chosen = []
    for case in selection.cases(Selection(setups=[s.name for s in setup.SETUPS]), "um"):
        if not {case.suite, (case.setup, case.pressure)} <= seen:
            seen |= {case.suite, (case.setup, case.pressure)}
            chosen.append(case)
    return chosen


@pytest.mark.parametrize("case", differing(), ids=lambda case: case.key)
def test_every_case_makes_a_valid_guest(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kbuild.Kbuild, "sources", lambda _self: tmp_path)  # no kernel need be built
    for name in fakes.NAMES:
        spec = round.spec(case, fakes.kernel(name, tmp_path), Options(limit=64 * MIB), tmp_path)
        spec.check()
        assert ("memory.max" in spec.script.split("begin\n")[0]) == (case.pressure == "memcg")


def test_mainline_gets_the_device_that_it_needs(tmp_path: Path) -> None:
    ours, theirs = (
        round.spec(fakes.CASE, fakes.kernel(name, tmp_path), Options(), tmp_path) for name in ("vswap", "mainline")
    )
    assert ours.swap == "none" and theirs.swap.startswith("file:")
    assert replace(ours, swap="", kernel=theirs.kernel) == replace(theirs, swap="")


def test_the_identity_changes_with_what_is_measured(tmp_path: Path) -> None:
    first = fakes.plan(tmp_path).identity()
    assert first == fakes.plan(tmp_path).identity()
    assert first != fakes.plan(tmp_path, rounds=4).identity()
    assert first != fakes.plan(tmp_path, replace(fakes.CASE, compressor="lz4")).identity()
    assert first != fakes.plan(tmp_path, replace(fakes.CASE, page_cluster=0)).identity()
    changed = fakes.plan(tmp_path)
    (tmp_path / "vswap-image").write_text("another build")
    assert first != changed.identity()
