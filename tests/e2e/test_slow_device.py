# SPDX-License-Identifier: GPL-2.0
"""Writeback to a device that is slow, does not answer, fails or is full: reclaim does not wait for it."""

import logging
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.common import MIB, Boot, answer, fields, number
from vswaplab.guest import GuestResult

Test = TypeVar("Test", bound=Callable[..., Any])

KERNELS = ("mainline", "vswap")


def kernels(flavour: str) -> Callable[[Test], Test]:
    """The marks of a test that runs on both kernels."""

    def mark(test: Test) -> Test:
        for kernel in KERNELS:
            test = pytest.mark.kernel(kernel, "um", flavour)(test)
        return test

    return mark


def helper(name: str) -> str:
    """The path of a program that runs in the guest."""
    return str(Path(__file__).with_name(f"{name}_in_guest.py"))


# swap_on NAME TARGET: swap to a device of the device mapper, and to nothing else. @ in the target is the disk.
PRELUDE = """
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
swap_on() {
  disk=$(device); swapoff $disk
  # Where memory is short the device mapper waits for one of its own requests to end: let it have enough.
  echo 1024 > /sys/module/dm_mod/parameters/reserved_bio_based_ios
  echo "0 $(cat /sys/block/${disk##*/}/size) $2" | sed "s,@,$disk,g" |
    dmsetup create --noudevsync --noudevrules $1 || exit 1
  dm=/dev/dm-0
  mkswap $dm > /dev/null && swapon $dm || exit 1
}
swap_off() { swapoff $dm; echo $? > $RESULTS/swapoff; }
"""


# A group's share of zswap is full, so that whoever swaps its pages out has older ones written back; memory
# is filled and nothing read, so that nobody waits for data.
DELAYED = (
    PRELUDE
    + """
swap_on slow "delay @ 0 0 @ 0 100"
echo Y > $Z/shrinker_enabled
echo 500 > /proc/sys/vm/watermark_scale_factor  # the device mapper waits if it finds no memory
group a; echo 4M > $CG/a/memory.zswap.max
cat > /run/load <<'EOF'
(echo 0 > /sys/fs/cgroup/a/cgroup.procs
exec swapcheck -P 2 --size 220M --text 30 --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json=$RESULTS/out.json > /dev/null) & echo $! > /run/pid
while [ ! -e /run/ready ] && kill -0 $!; do sleep 0.1; done
EOF
python3 %(helper)s sh /run/load > $RESULTS/waits
grep zswpwb /proc/vmstat > $RESULTS/vmstat
touch /run/go
while kill -0 $(cat /run/pid); do sleep 0.2; done 2>/dev/null
swap_off
"""
)
# Ours may be above mainline's by this much: it varies by a quarter from run to run.
MORE, SLACK = 1.5, 0.05


def waiting(result: GuestResult) -> dict[str, float]:
    """Seconds in D state per second of the load, of kswapd and of all tasks that reclaim; the data is verified."""
    assert answer(result, "out.json")["verified"] is True, (result.output, result.oom_kills)
    assert number(result, "swapoff") == 0 and fields(result, "vmstat")["zswpwb"] > 100
    seen = answer(result, "waits")
    assert seen["code"] == 0 and seen["lost_events"] == 0, seen
    logging.info("%s %s", result.hello.get("mode"), seen)
    return {name: seen[name]["seconds"] / seen["seconds"] for name in ("kswapd", "tasks")}


@kernels("release")
@pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.long)])
def test_reclaim_does_not_wait_for_a_slow_device(boot_guest: Boot, rounds: int) -> None:
    """Each write takes 0.1 s: the time that kswapd and the two processes that reclaim wait, against mainline.

    Mainline submits and goes on; it waits a little all the same, for much shorter times.
    """
    shares: dict[str, list[dict[str, float]]] = {kernel: [] for kernel in KERNELS}
    for _ in range(rounds):
        for kernel in KERNELS:
            result = boot_guest(
                DELAYED % {"helper": helper("reclaim_waits")}, kernel=kernel, flavour="release",
                mem_bytes=200 * MIB, swap="file:512M", pool_percent=50, cpus=2,
                expected=["page allocation failure"] if kernel == "mainline" else [],  # of a swap table
            )  # fmt: skip
            shares[kernel].append(waiting(result))
    for name in ("kswapd", "tasks"):
        mainline, vswap = (statistics.median(share[name] for share in shares[kernel]) for kernel in KERNELS)
        assert vswap <= MORE * mainline + SLACK, (name, shares)


HANG = (
    PRELUDE
    + """
swap_on slow "linear @ 0"
group reader
python3 %(helper)s reader slow %(seconds)d > $RESULTS/out.json; echo $? > $RESULTS/code
grep zswpwb /proc/vmstat > $RESULTS/vmstat
swap_off
"""
)
HANGS = [10, pytest.param(30, marks=pytest.mark.long)]


@kernels("release")
@pytest.mark.parametrize("seconds", HANGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_page_is_read_while_it_is_written_back(boot_guest: Boot, kernel: str, seconds: int) -> None:
    """To a device that does not answer: its data is in memory, nobody has to wait for the device."""
    result = boot_guest(
        HANG % {"helper": helper("hang"), "seconds": seconds}, kernel=kernel, flavour="release",
        mem_bytes=160 * MIB, swap="file:128M", pool_percent=25, cpus=2,
    )  # fmt: skip
    assert number(result, "code") == 0 and number(result, "swapoff") == 0, result.output  # all was verified
    seen = answer(result, "out.json")
    logging.info("%s: %s", kernel, seen)
    assert seen["before"]["zswpout"] >= 5900 and seen["before"]["zswpwb"] == 0, seen
    assert seen["in_flight"]["nr_writeback"] > 0, seen
    assert seen["worst"] < 1 and seen["ended_during_hang"], seen
    assert fields(result, "vmstat")["zswpwb"] > 0
    assert result.end.slots_used == 0


# A group's share of zswap is full when somebody reclaims its memory: for each page an older one is to be
# written back, to the device that hangs.
OTHERS = (
    PRELUDE
    + """
swap_on slow "linear @ 0"
group zswapped; echo 16M > $CG/zswapped/memory.high; echo 0 > $CG/zswapped/memory.zswap.writeback
group memory; group reclaimed; echo 4M > $CG/reclaimed/memory.zswap.max
echo Y > $Z/shrinker_enabled
python3 %(helper)s bystanders slow %(seconds)d $SCRATCH > $RESULTS/out.json; echo $? > $RESULTS/code
swap_off
"""
)
STALL = 2  # seconds: of an operation, or of kswapd


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("seconds", HANGS)
def test_others_go_on_while_the_device_hangs(boot_guest: Boot, seconds: int) -> None:
    """Who reads files, uses memory, has data in zswap or reclaims memory does at least half as much as usual.

    On mainline the one who reclaims does as much as before. (There it is the one with data in zswap who
    suffers: its rate falls from 2,400 pages a second to 100, with a longest wait of 0.9 s.)
    """
    result = boot_guest(
        "SCRATCH=/dev/ubdc\n" + OTHERS % {"helper": helper("hang"), "seconds": seconds},
        flavour="release", mem_bytes=240 * MIB, swap="file:256M", scratch=700 * MIB, pool_percent=30, cpus=2,
        timeout=seconds + 90.0,
    )  # fmt: skip
    assert number(result, "code") == 0 and number(result, "swapoff") == 0, result.output
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert set(seen["codes"]) == {0}, result.output  # all was verified
    others = ("reader", "zswapped", "memory", "reclaimer")
    assert all(seen[name]["longest"] < STALL for name in others) and seen["kswapd"] < STALL, seen
    assert all(seen[name]["hang"] >= seen[name]["usual"] / 2 for name in others), seen
    assert result.end.slots_used == 0
