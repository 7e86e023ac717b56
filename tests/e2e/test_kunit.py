# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites of virtual swap, on the debug kernel."""

import re
from collections.abc import Callable

import pytest

from tests.e2e.common import Boot
from vswaplab.guest import ktap
from vswaplab.stress import tally
from vswaplab.tree import buildtree

ARCHES = [
    pytest.param("um", marks=pytest.mark.kernel("vswap", "um", "debug", checkers=True)),
    # Orders above 0 exist there only.
    pytest.param("x86_64", marks=[pytest.mark.long, pytest.mark.kernel("vswap", "x86_64", "debug")]),
]

CASES = {
    "vswap_boot": {"boot_parameters", "boot_sizes"},
    "vswap_backing": {
        "zswap_word", "slot_word", "invalid_words", "runs", "random_runs", "rmap_word", "spare_word", "slot_runs",
    },
    "vswap_space": {
        "alloc_every_order", "no_slot_before_all_is_ready", "zero_slot", "count_overflow", "release_in_runs",
        "backing_transitions", "large_folio_is_erased_in_parts", "io_in_pieces", "refusals_by_error",
        "refused_page_is_mlocked", "oom_is_put_off_rarely", "oom_waits_for_compaction", "memory_out_of_reach",
        "nothing_for_memory_out_of_reach", "room_during_swapoff", "shmem_folio_of_former_entries",
        "table_failures", "lend_tables", "no_tables", "cluster_in_use_serves_all_slots",
        "refilling_kills_nobody", "growing_kills_nobody", "grow_on_demand", "grow_ahead", "tables_go",
        "race_resizing", "counters_wrap", "counters_at_their_limits", "refusals_wrap", "group_counters",
        "growing_fails", "policy_is_asked_for_many", "policy_is_asked_near_the_end", "owner_references",
        "group_goes_while_marking", "io_with_holes", "large_folio_can_be_read", "holes_are_looked_for_again",
        "shrinker_of_a_pool_is_waited_for",
    },
}  # fmt: skip
# What needs zswap's pool, see test_zswap_that_is_on_from_boot(), and what cannot be tried on an architecture.
NEEDS_ZSWAP = {"vswap_space.nothing_for_memory_out_of_reach"}
SKIPPED = {"um": {"vswap_space.shmem_folio_of_former_entries", *NEEDS_ZSWAP}, "x86_64": NEEDS_ZSWAP}


@pytest.mark.parametrize("arch", ARCHES)
def test_all_cases_pass(
    boot_guest: Boot, record_property: Callable[[str, object], None], pytestconfig: pytest.Config, arch: str
) -> None:
    arguments = ["kunit.autorun=1", "kunit.filter_glob=vswap*", "transparent_hugepage_shmem=always"]
    result = boot_guest("true", arch=arch, cpus=2, extra_cmdline=arguments, timeout=900.0)
    cases = ktap.parse(result.console, buildtree.source_tree("vswap").path)
    skipped = {case.name for case in cases if case.status == "skip"}
    assert {case.name: case.message for case in cases if case.status not in ("pass", "skip")} == {}
    assert skipped == SKIPPED[(pytestconfig.getoption("on") or [arch])[0]]
    wanted = {f"{suite}.{name}" for suite, names in CASES.items() for name in names}
    assert wanted == {case.name for case in cases}
    inputs = re.search(r"(\d+) boot parameters refused, (\d+) taken", result.console)
    assert inputs, result.console[-4000:]
    record_property(f"{tally.FIGURE}boot parameters, refused", int(inputs[1]))
    record_property(f"{tally.FIGURE}boot parameters, taken", int(inputs[2]))
    # Sizes of the array at which each allocation of growing has failed.
    sizes = re.findall(r"\d+ pages, page table (?:missing|there): failed (\d+) times", result.console)
    assert len(sizes) >= 6, result.console[-4000:]
    record_property(f"{tally.FIGURE}failures of growing", sum(map(int, sizes)))


@pytest.mark.kernel("vswap", "um", "debug", checkers=True)
def test_zswap_that_is_on_from_boot(boot_guest: Boot) -> None:
    """A case turns zswap on and off, and leaves it as it was; another one needs zswap's pool."""
    arguments = ["kunit.autorun=1", "kunit.filter_glob=vswap_space.*memory_out_of_reach", "zswap.enabled=1"]
    result = boot_guest("true", extra_cmdline=arguments)
    cases = ktap.parse(result.console, buildtree.source_tree("vswap").path)
    found = [(case.name, case.status, case.message) for case in cases]
    names = "vswap_space.memory_out_of_reach", "vswap_space.nothing_for_memory_out_of_reach"
    assert found == [(name, "pass", "") for name in names]
