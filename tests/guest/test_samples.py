# SPDX-License-Identifier: GPL-2.0
"""The figures of a report, computed from samples."""

from tests.guest.fakes import MIB, made
from vswaplab.guest import Counters, samples

SLOTS = MIB // 4096


def on_vswap(used: int, **values: int) -> dict[str, int]:
    return {"slots_used": used, "zero": 0, "zswap": used, "physical": 0, "metadata_bytes": 18 * used, **values}


def test_counters_of_virtual_swap() -> None:
    counted = made(vswap=on_vswap(100, zero=7, zswap=90, physical=3)).counters
    assert counted == Counters(100, 7, 90, 3, 1800)


def test_counters_of_mainline() -> None:
    counted = made(meminfo={"SwapTotal": 100, "SwapFree": 60, "Zswapped": 30}).counters
    assert counted == Counters(40 * SLOTS, 0, 30 * SLOTS, 40 * SLOTS, 0)


def test_peak_is_one_moment() -> None:
    seen = [
        made(vswap=on_vswap(10, metadata_bytes=900)),
        made(vswap=on_vswap(50, metadata_bytes=800, zero=1)),
        made(vswap=on_vswap(20, metadata_bytes=950, zero=9)),
    ]
    assert samples.peak(seen) == Counters(50, 1, 50, 0, 800)
    assert samples.peak([]) == Counters()


def test_device_slots_peak() -> None:
    seen = [made(meminfo={"SwapTotal": 9, "SwapFree": free}) for free in (9, 4, 7)]
    assert samples.device_slots_peak(seen) == 5 * SLOTS
    assert samples.device_slots_peak([]) == 0


def test_ratio_needs_data() -> None:
    assert made(meminfo={"Zswap": 10, "Zswapped": 30}).ratio == 3
    assert made(meminfo={"Zswap": 0, "Zswapped": 0}).ratio is None


def test_what_zram_holds_is_compressed_as_well() -> None:
    found = made(zram={"data_bytes": 30 * MIB, "compressed_bytes": 9 * MIB, "memory_bytes": 10 * MIB})
    assert (found.stored_bytes, found.original_bytes, found.ratio) == (10 * MIB, 30 * MIB, 3)
    assert found.counters.zswap == 0


def test_working_set_of_virtual_swap() -> None:
    start = made("start", meminfo={"AnonPages": 5, "Shmem": 1}, vswap=on_vswap(0))
    # 40 MB in slots, 10 of them with a device slot behind (counted once), 4 also in memory.
    full = made(
        meminfo={"AnonPages": 100, "Shmem": 20, "SwapTotal": 50, "SwapFree": 40},
        vmstat={"nr_swapcached": 4 * SLOTS},
        vswap=on_vswap(40 * SLOTS, physical=10 * SLOTS),
    )
    assert samples.working_set([start, full]) == (100 + 20 + 40 - 4 - 6) * MIB


def test_working_set_of_mainline() -> None:
    start = made("start", meminfo={"AnonPages": 5})
    full = made(meminfo={"AnonPages": 100, "SwapTotal": 50, "SwapFree": 20})
    assert samples.working_set([start, full]) == 125 * MIB
    assert samples.working_set([]) == 0


def test_growth_of_a_counter() -> None:
    seen = [made(vmstat={"zswpin": 3}), made(), made(vmstat={"zswpin": 10})]
    assert samples.grown(seen, "zswpin") == 7
    assert samples.grown(seen, "unknown") == 0
