# SPDX-License-Identifier: GPL-2.0
"""KUnit's results, read out of a console."""

from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.guest import ktap
from vswaplab.guest.ktap import Case
from vswaplab.source import linux

LOG = (Path(__file__).parent / "consoles" / "kunit.txt").read_text()
FOUND = linux.cached(paths.cache_dir() / "source")

pytestmark = pytest.mark.skipif(FOUND is None, reason="no kernel source in the cache, with the parser in it")


def parse(console: str) -> list[Case]:
    assert FOUND
    return ktap.parse(console, linux.pristine(FOUND))


def statuses(console: str) -> dict[str, str]:
    return {case.name: case.status for case in parse(console)}


def test_whole_log() -> None:
    assert statuses(LOG) == {
        "vswap_backing.test_encode": "pass",
        "vswap_backing.test_order.order 0": "pass",
        "vswap_backing.test_order.order 9": "skip",
        "vswap_backing.test_release": "fail",
        "vswap_space.test_grow": "pass",
        "vswap_space.test_shrink": "pass",
        "vswap_slots.test_all": "skip",
    }
    assert not ktap.passed(parse(LOG))


def test_messages() -> None:
    cases = {case.name: case for case in parse(LOG)}
    assert cases["vswap_backing.test_order.order 9"].message == "no transparent huge pages"
    explained = cases["vswap_backing.test_release"].message
    assert "EXPECTATION FAILED at mm/vswap/tests/backing_kunit.c:88" in explained
    assert "used == 3 (0x3)" in explained


def test_time_stamps_do_not_matter() -> None:
    bare = "\n".join(line.partition("] ")[2] for line in LOG.splitlines())
    assert parse(bare) == parse(LOG)


def test_all_passed() -> None:
    good = LOG.replace("not ok 3 test_release", "ok 3 test_release").replace("not ok 1", "ok 1")
    assert ktap.passed(parse(good))


def test_log_cut_in_a_test() -> None:
    cut = LOG[: LOG.index("[    0.413600]")] + "[    0.413550] Kernel panic - not syncing: oops\n"
    found = parse(cut)
    assert statuses(cut)["vswap_space.test_grow"] == "pass"
    assert Case("vswap_space", "crash", "Kernel panic - not syncing: oops") in found
    said = found[-1].message
    assert "vswap_space: missing expected subtest" in said and "main: missing expected subtest" in said
    assert not ktap.passed(found)


def test_log_cut_in_a_suite_without_a_plan() -> None:
    cut = "KTAP version 1\n    KTAP version 1\n    # Subtest: s\n    ok 1 a\nKernel panic\n"
    assert Case("s", "crash", "Kernel panic") in parse(cut)
    assert not ktap.passed(parse(cut))


def test_missing_suite() -> None:
    missing = LOG[: LOG.index("[    0.413800]")]
    assert Case("", "crash", "Test: main: missing expected subtest!") in parse(missing)


def test_missing_case() -> None:
    missing = "\n".join(line for line in LOG.splitlines() if "test_shrink" not in line)
    assert Case("", "crash", "Test: vswap_space: missing expected subtest!") in parse(missing)


def test_suite_that_fails_by_itself() -> None:
    log = "KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: s\n    1..1\n    ok 1 a\nnot ok 1 s\n"
    assert [(case.name, case.status) for case in parse(log)] == [("s.a", "pass"), ("s", "fail")]


def test_no_results() -> None:
    console = (Path(__file__).parent / "consoles" / "clean-um-release.txt").read_text()
    assert parse(console) == []
    assert not ktap.passed([])


def test_only_skips_is_no_pass() -> None:
    assert not ktap.passed([Case("a", "skip")])
