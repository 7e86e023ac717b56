# SPDX-License-Identifier: GPL-2.0
"""What /sys/kernel/mm/vswap/free_contiguous says of the free space of swap devices."""

from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, number

PAGES = 2048  # of fragment_in_guest.py
CLUSTER = 512  # slots, at most: the first of a device has its header

FRAGMENTED = """
FILE=/sys/kernel/mm/vswap/free_contiguous
dev=$(device); swapoff $dev && cat $FILE > $RESULTS/off && swapon $dev
echo {mode} > /sys/kernel/mm/vswap/mode
python3 {program} > $RESULTS/out.json 2> $RESULTS/err; echo $? > $RESULTS/code
"""


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("mode", ["never", "always"])
def test_every_other_page_freed(boot_guest: Boot, mode: str) -> None:
    result = boot_guest(
        FRAGMENTED.format(program=Path(__file__).with_name("fragment_in_guest.py"), mode=mode),
        flavour="release", mem_bytes=96 * MIB, swap="file:64M", zswap=False,
    )  # fmt: skip
    assert number(result, "code") == 0, result.files["err"]
    seen = answer(result, "out.json")
    assert seen["bad"]["pages"] == 0
    assert number(result, "off") == 0
    for state in ("start", "end"):
        assert 0 <= seen[state]["free"] - seen[state]["contiguous"] < 2 * CLUSTER, seen
    full, halved = seen["full"], seen["halved"]
    assert seen["start"]["free"] - full["free"] > 0.9 * PAGES, seen
    # Half of the pages are free again, but no cluster is.
    assert halved["free"] - full["free"] > 0.4 * PAGES, seen
    assert halved["contiguous"] - full["contiguous"] < 2 * CLUSTER, seen
