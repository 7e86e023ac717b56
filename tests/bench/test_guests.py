# SPDX-License-Identifier: GPL-2.0
"""Rounds in real guests: the smallest of each kind of set-up."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from vswaplab.bench import check, round
from vswaplab.bench.case import Case, Options
from vswaplab.bench.suites.swapped import TOUCHES
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec, boot

pytestmark = [pytest.mark.kernel("vswap", "um", "release"), pytest.mark.kernel("mainline", "um", "release")]

SMALL = Options(limit=48 << 20, cpus=1)


@pytest.mark.parametrize("name", ["vswap", "mainline"])
def test_a_process_ends_with_everything_in_zswap(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path, name: str
) -> None:
    kernel = check.trial(built_kernel(name, "um", "release"), boot)
    assert kernel.vswap is (name == "vswap") and "CONFIG_ZSWAP=y" in kernel.config
    found = round.run(Case("exit", "zswap", "memcg"), kernel, SMALL, workload_dir, boot)
    assert found.status == "ok", found.reason
    assert found.metrics["exit"] > 0
    # mainline's swapfile is needed and not written
    assert found.counters["zswpout"] > 10_000 and found.counters["pswpout"] == 0


def test_a_disk_in_ram(built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path) -> None:
    kernel = check.trial(built_kernel("vswap", "um", "release"), boot)
    found = round.run(Case("fork", "pmem", "global", mglru=False), kernel, SMALL, workload_dir, boot)
    assert found.status == "ok", found.reason
    assert found.counters["pswpout"] > 5_000 and found.counters["zswpout"] == 0


@pytest.mark.parametrize("name", ["vswap", "mainline"])
def test_tmpfs_is_measured_and_not_the_programs_text(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path, name: str
) -> None:
    """At the limit of a group, reading text again has reclaim look at all pages of the tmpfs, in vain."""
    kernel = check.trial(built_kernel(name, "um", "release"), boot)
    found = round.run(Case("tmpfs", "zswap", "memcg", page_cluster=0), kernel, SMALL, workload_dir, boot)
    assert found.status == "ok", found.reason
    assert found.counters["zswpout"] > 20_000
    assert found.counters["pgscan_direct"] < 1.5 * found.counters["zswpout"], found.counters


@pytest.mark.parametrize("setup", ["disk", "zswap-full"])
@pytest.mark.parametrize("pressure", ["memcg", "global"])
@pytest.mark.parametrize("name", ["vswap", "mainline"])
def test_what_is_touched_is_not_in_the_swap_cache(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path, name: str, pressure: str, setup: str
) -> None:
    """Written pages may stay in memory, more on one kernel than on the other: a median would tell their share."""
    kernel = check.trial(built_kernel(name, "um", "release"), boot)
    case = Case("touch", setup, pressure, page_cluster=0)
    found = round.run(case, kernel, Options(limit=96 << 20, cpus=1), workload_dir, boot)
    assert found.status == "ok", found.reason
    assert found.counters["pswpin"] + found.counters["zswpin"] > 0.98 * TOUCHES, found.counters


NEW = [
    Case("leftover", "zram", "global", "lzo", page_cluster=0),
    Case("refault", "zswap", "global", page_cluster=3),
    Case("refault", "zswap", "memcg"),
    Case("usemem52", "zram", "global", "lzo", mglru=True),
]


@pytest.mark.parametrize("case", NEW, ids=lambda case: case.key)
def test_what_is_compared_with_zram(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path, case: Case
) -> None:
    kernel = check.trial(built_kernel("mainline", "um", "release"), boot)
    found = round.run(case, kernel, Options(limit=96 << 20, cpus=1), workload_dir, boot)
    assert found.status == "ok", found.reason
    assert all(value > 0 for value in found.metrics.values())
    assert found.counters["pswpout" if case.setup == "zram" else "zswpout"] > 1000


def test_a_kill_for_lack_of_memory_is_an_outcome(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path
) -> None:
    kernel = check.trial(built_kernel("vswap", "um", "release"), boot)

    def without_room(spec: GuestSpec) -> GuestResult:
        return boot(replace(spec, swap="file:1M"))

    found = round.run(Case("usemem1", "disk", "memcg"), kernel, SMALL, workload_dir, without_room)
    assert found.status == "oom" and "usemem" in found.reason and found.metrics == {}
