# SPDX-License-Identifier: GPL-2.0
"""Every mode of swapcheck, byte by byte, with no swap device and less memory than data."""

import pytest

from tests.e2e.common import MIB, Boot, checked_mode
from vswaplab.guest import GuestResult

pytestmark = pytest.mark.kernel("vswap", "um", "debug")

MODES = [
    "anon", "shm-tmpfs", "shm-memfd", "fork", "fork-many", "dontneed", "free", "pageout", "mremap",
    "munmap", "ksm", "churn", "read",
]  # fmt: skip

SCRIPT = """
echo 1 > /sys/kernel/mm/ksm/run; echo 20000 > /sys/kernel/mm/ksm/pages_to_scan
for mode in %s; do
  group $mode
  in_group $mode swapcheck --mode $mode --size 8M --zero 10 --same 5 --text 15 \\
    --children 6 --reclaim --rewrite 20 --seconds 3 --passes 1 --json > $RESULTS/$mode.json
  echo $? > $RESULTS/$mode.code
  verify > $RESULTS/$mode.verify
  cat $CG/$mode/memory.swap.current > $RESULTS/$mode.swap
  [ $mode = ksm ] && echo 2 > /sys/kernel/mm/ksm/run
  rmdir $CG/$mode
done
settle
"""


@pytest.fixture(scope="module")
def all_modes(boot_guest: Boot) -> GuestResult:
    """One guest that runs them one after the other, each in a control group of its own.

    With one CPU, which is twice as fast here; two are for the tests that race.
    """
    return boot_guest(SCRIPT % " ".join(MODES), mem_bytes=300 * MIB, cpus=1, timeout=900.0)


@pytest.mark.parametrize("mode", MODES)
def test_mode(all_modes: GuestResult, mode: str) -> None:
    """Data is what it was, and nothing is charged that is on no device."""
    report = checked_mode(all_modes, mode)
    assert report["mismatches"] == 0 and report["checks"] >= report["pages"] > 0
    assert report["modes"][0]["swapped_bytes"] > 0 or mode in ("ksm", "churn", "shm-tmpfs", "shm-memfd")


def test_all_slots_are_freed(all_modes: GuestResult) -> None:
    assert all_modes.end.slots_used == 0 and all_modes.end.zswap == 0 and all_modes.end.zero == 0
    assert all_modes.peak.slots_used > 1000 and all_modes.peak.physical == 0
