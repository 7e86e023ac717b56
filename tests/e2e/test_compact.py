# SPDX-License-Identifier: GPL-2.0
"""A full pool is compacted before data is written back, and before reclaim is told that it is full."""

from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, number

HERE = Path(__file__).parent
MEMORY = 320
PERCENT = 8  # of what is left of it on a debug kernel: 20 MB
FIRST, SECOND = 11000, 4000  # 43 MB in 15, of which a quarter is kept; 16 MB in 8

HOLES = """
group a
in_group a python3 {program} --first {first} --second {second} --reclaim $CG/a/memory.reclaim > $RESULTS/holes.json
echo $? > $RESULTS/code
verify > $RESULTS/verify
"""


def make_holes(boot_guest: Boot, swap: str) -> dict[str, dict[str, int]]:
    """The pool after each step; every page was right."""
    result = boot_guest(
        HOLES.format(program=HERE / "holes_in_guest.py", first=FIRST, second=SECOND),
        mem_bytes=MEMORY * MIB, swap=swap, pool_percent=PERCENT, mode="auto",
    )  # fmt: skip
    seen = answer(result, "holes.json")
    assert number(result, "code") == number(result, "verify") == seen["bad"] == 0, seen
    # Freeing three pages of four has left holes in most of the pool.
    freed = seen["freed"]
    assert freed["zswap"] > 0.6 * freed["zswapped"], seen
    assert freed["zswap"] + SECOND * 2048 > freed["limit"], "without compaction all fits as well"
    return dict(seen)


@pytest.mark.kernel("vswap", "um", "debug")
def test_holes_are_filled_before_data_is_written_back(boot_guest: Boot) -> None:
    """What is left of the first pages, and all of the second, fits the pool: nothing goes to the device."""
    seen = make_holes(boot_guest, "file:256M")
    assert seen["second"]["zswpwb"] == 0, seen
    assert seen["second"]["zswapped"] > (FIRST // 4 + SECOND) * 4096 * 0.95, seen


@pytest.mark.kernel("vswap", "um", "debug")
def test_holes_are_filled_before_the_pool_counts_as_full(boot_guest: Boot) -> None:
    """The same without a device, where a full pool ends swapping."""
    seen = make_holes(boot_guest, "none")
    assert seen["second"]["zswapped"] > (FIRST // 4 + SECOND) * 4096 * 0.95, seen
