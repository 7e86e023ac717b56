# SPDX-License-Identifier: GPL-2.0
"""Swap-out, writeback, swapoff and groups where users are: x86-64, two processors, large folios.

The whole suite runs there with the option --on; this, and hibernation in test_entries.py, is what every run of
the tests looks at.
"""

from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, fields, nothing_is_left
from vswaplab.guest import GuestResult

pytestmark = pytest.mark.kernel("vswap", "x86_64", "release")

# Every second guest page is in a folio of 64 KB, if it finds one.
FOLIOS = "echo always > /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled\n"


def boot(boot_guest: Boot, text: str, **fields: Any) -> GuestResult:
    """A guest of 128 MB with two processors: beside another guest it takes four times as long as alone."""
    settings: dict[str, Any] = {"mem_bytes": 128 * MIB, "cpus": 2, "timeout": 900.0, **fields}
    return boot_guest(FOLIOS + text, arch="x86_64", flavour="release", **settings)


def test_swap_out_without_a_device(boot_guest: Boot) -> None:
    result = boot(
        boot_guest,
        """
swapcheck -P 2 --mode anon,shm-memfd,fork --size 72M --zero 10 --text 50 --random 0 \\
  --passes 1 --rewrite 20 --json > $RESULTS/out.json
settle; left
""",
        swap="none",
    )
    assert answer(result, "out.json")["verified"] is True, result.output
    assert result.peak.zswap > 1000 and nothing_is_left(result)


def test_writeback_and_refault(boot_guest: Boot) -> None:
    result = boot(
        boot_guest,
        """
echo Y > $Z/shrinker_enabled
swapcheck -P 2 --size 200M --text 30 --random 10 --passes 2 --rewrite 20 --json > $RESULTS/out.json
grep -E '^(zswpwb|pswpin) ' /proc/vmstat > $RESULTS/vmstat
settle; left
""",
        swap="file:512M",
        pool_percent=10,
    )
    assert answer(result, "out.json")["verified"] is True, result.output
    seen = fields(result, "vmstat")
    assert seen["zswpwb"] > 1000 and seen["pswpin"] > 1000, seen
    assert nothing_is_left(result)


def test_swapoff_while_memory_is_swapped(boot_guest: Boot) -> None:
    """The device goes and comes with what is on it."""
    result = boot(
        boot_guest,
        """
dev=$(device); group a; echo 48M > $CG/a/memory.high
in_group a swapcheck --mode churn --size 90M --seconds 20 --random 20 --json > $RESULTS/out.json & pid=$!
sleep 3
while kill -0 $pid 2>/dev/null; do
  swapoff $dev && echo off >> $RESULTS/offs; swapon $dev; sleep 1
done
grep vswap_evacuate /proc/vmstat > $RESULTS/vmstat
settle; left
""",
        swap="file:256M",
        mode="always",
        zswap=False,
        mem_bytes=192 * MIB,
    )
    assert answer(result, "out.json")["verified"] is True, result.output
    assert len(result.files["offs"].split()) > 1 and fields(result, "vmstat")["vswap_evacuate"] > 100
    assert nothing_is_left(result)


def test_limits_of_groups(boot_guest: Boot) -> None:
    """zswap.max of one group and swap.max of another hold, and a group of its own is charged for the tables."""
    result = boot(
        boot_guest,
        """
group z; echo 2M > $CG/z/memory.zswap.max; group s; echo 8M > $CG/s/memory.swap.max; group m
echo 0 > $CG/s/memory.zswap.max
for g in z s m; do
  more="--pageout --hold 2"; [ $g = s ] || { more=; echo 24M > $CG/$g/memory.high; }
  in_group $g swapcheck --size 40M --text 30 --random 0 --passes 2 --rewrite 20 $more --json > $RESULTS/$g.json &
  eval $g=$!
done
while kill -0 $z 2>/dev/null || kill -0 $s 2>/dev/null || kill -0 $m 2>/dev/null; do
  cat $CG/z/memory.zswap.current >> $RESULTS/z; cat $CG/s/memory.swap.current >> $RESULTS/s
  awk '$1 == "vswap_tables" { print $2 }' $CG/m/memory.stat >> $RESULTS/m; sleep 0.3
done
wait; settle; left
""",
        mem_bytes=256 * MIB,
        swap="file:256M",
        mode="always",
    )
    for group in "zsm":
        assert answer(result, f"{group}.json")["verified"] is True, result.output
    in_zswap, on_device, tables = (max(map(int, result.files[name].split())) for name in "zsm")
    # zswap asks for a limit once for a folio, of 64 KB here: two processors go beyond it by two folios at most.
    assert MIB < in_zswap <= 2 * MIB + 2 * 65536 and 7 * MIB < on_device <= 8 * MIB and tables > 0
    assert nothing_is_left(result)
