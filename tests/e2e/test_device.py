# SPDX-License-Identifier: GPL-2.0
"""Slots of a swap device behind virtual slots: written out, written back, charged, evacuated."""

import json
import re
import signal

import pytest

from tests.e2e.common import (
    HELD,
    MIB,
    Boot,
    answer,
    checked_mode,
    emulated_with_checkers,
    fields,
    nothing_is_left,
    number,
)  # fmt: skip
from tests.e2e.test_modes import MODES
from vswaplab.guest import GuestResult

pytestmark = pytest.mark.kernel("vswap", "um", "debug")

# Half of the modes with zswap off: straight to the device; half with a pool of a few MB, where
# pages go to zswap, are written back, and skip the full pool.
ALL_MODES = """
echo 1 > /sys/kernel/mm/ksm/run; echo 20000 > /sys/kernel/mm/ksm/pages_to_scan
n=0
for mode in %s; do
  n=$((n+1)); [ $((n %% 2)) = 0 ] && echo Y > $Z/enabled || echo N > $Z/enabled
  group $mode
  in_group $mode swapcheck --mode $mode --size 8M --zero 10 --same 5 --text 15 --random 20 \\
    --children 6 --reclaim --rewrite 20 --seconds 3 --passes 1 --json > $RESULTS/$mode.json
  echo $? > $RESULTS/$mode.code
  verify > $RESULTS/$mode.verify
  [ $mode = ksm ] && echo 2 > /sys/kernel/mm/ksm/run
  settle
  cat $CG/$mode/memory.swap.current > $RESULTS/$mode.swap
  rmdir $CG/$mode
done
settle
"""


@pytest.fixture(scope="module")
def all_modes(boot_guest: Boot) -> GuestResult:
    return boot_guest(
        ALL_MODES % " ".join(MODES),
        mem_bytes=300 * MIB, cpus=1, timeout=900.0, mode="always", swap="file:64M", pool_percent=1,
    )  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_mode(all_modes: GuestResult, mode: str) -> None:
    """Data is what it was, and every slot of the device was given back."""
    checked_mode(all_modes, mode)


def test_all_slots_are_freed(all_modes: GuestResult) -> None:
    end = all_modes.end
    assert (end.slots_used, end.zswap, end.zero, end.physical) == (0, 0, 0, 0)
    assert all_modes.peak.physical > 500
    assert all_modes.swapoff_error is None and all_modes.swapoff_seconds is not None


def test_write_back_and_charge(boot_guest: Boot) -> None:
    """What is charged to memory.swap is what the group has on the device: all the time, at rest.

    And writing it back is the group's I/O, whoever has it done.
    """
    result = boot_guest(
        """
echo +io > $CG/cgroup.subtree_control
group a; echo 24M > $CG/a/memory.high
in_group a swapcheck --size 56M --text 40 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
sleep 1
keep charged $CG/a/memory.swap.current; keep physical $V/physical; used > $RESULTS/used
keep stat $CG/a/memory.stat; keep io $CG/a/io.stat; verify > $RESULTS/verify
touch /run/go; wait $pid; settle
keep left $CG/a/memory.swap.current; keep left-physical $V/physical; used > $RESULTS/left-used
""",
        mem_bytes=160 * MIB,
        swap="file:128M",
        pool_percent=3,
    )
    assert answer(result, "out.json")["verified"] is True
    assert number(result, "verify") == 0
    physical = number(result, "physical")
    assert physical > 1000
    assert number(result, "used") == physical * 4
    others = physical * 4096 - number(result, "charged")
    assert 0 <= others < 64 * 4096  # pages of init and of the shell
    written = fields(result, "stat")["zswpwb"]
    assert written > 1000
    assert fields(result, "stat")["pswpout"] >= written
    assert sum(int(count) for count in re.findall(r"wbytes=(\d+)", result.files["io"])) >= written * 4096
    assert number(result, "left") == 0
    assert (result.end.slots_used, result.end.physical) == (0, 0)


def test_limits(boot_guest: Boot) -> None:
    """memory.swap.max is kept to, and memory.zswap.writeback=0 keeps everything off the device."""
    result = boot_guest(
        """
limited() {  # GROUP: a group whose 24 MB are to be swapped out, as far as that is allowed
  ( echo 0 > $CG/$1/cgroup.procs; exec swapcheck --size 24M --text 50 --passes 1 \
      --ready-file /run/ready-$1 --wait-file /run/go-$1 --json > $RESULTS/$1.json ) & pid=$!
  while [ ! -e /run/ready-$1 ]; do sleep 0.1; done
  within 5 sh -c "echo 20M > $CG/$1/memory.reclaim" 2>/dev/null
  keep $1.swap $CG/$1/memory.swap.current; keep $1.zswap $CG/$1/memory.zswap.current
  keep $1.events $CG/$1/memory.swap.events; touch /run/go-$1; wait $pid; settle
}
group a; echo 2060K > $CG/a/memory.swap.max; limited a  # 515 pages: the last of batches of 32 does not fit
group b; echo 0 > $CG/b/memory.zswap.writeback; limited b
group c; echo 0 > $CG/c/memory.zswap.max; limited c
""",
        mem_bytes=160 * MIB,
        swap="file:128M",
        pool_percent=1,
    )
    for name in "abc":
        assert answer(result, f"{name}.json")["verified"] is True
    assert MIB < number(result, "a.swap") <= 2060 << 10
    assert fields(result, "a.events")["max"] > 0
    assert number(result, "b.swap") == 0 and number(result, "b.zswap") > MIB / 2
    # A group that may not use zswap has entries of the device: in auto nothing is gained for it.
    assert number(result, "c.swap") > 10 * MIB and number(result, "c.zswap") == 0
    assert result.end.slots_used == 0


SWAPOFF = """
dev=$(device)
start() {
  rm -f /run/ready /run/go
  swapcheck --size $2 -P 4 ${3-} --ready-file /run/ready --wait-file /run/go --json > $RESULTS/$1.json & pid=$!
  while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
}
finish() { touch /run/go; wait $pid; settle; }
"""


def test_swapoff(boot_guest: Boot) -> None:
    """Into zswap and memory, after it was interrupted, which leaves the device in use."""
    result = boot_guest(
        SWAPOFF
        + """
start off 60M --pageout; used > $RESULTS/before
# Later and later, until the signal meets it at work.
for delay in 0.02 0.04 0.08 0.16 0.32 0.64 1.28; do
  timeout -s INT $delay swapoff $dev; interrupted=$?
  moved=$(sed -n 's/^vswap_evacuate //p' /proc/vmstat); [ $moved -eq 0 ] || break
done
echo $interrupted $moved $(grep -c $dev /proc/swaps) > $RESULTS/interrupted; verify > $RESULTS/verify
swapoff $dev; echo $? > $RESULTS/code; keep physical $V/physical; verify >> $RESULTS/verify
keep swaps /proc/swaps; grep vswap_evacuate /proc/vmstat > $RESULTS/vmstat
finish
""",
        mem_bytes=256 * MIB,
        swap="file:128M",
        mode="always",
        pool_percent=2,
    )
    assert answer(result, "off.json")["verified"] is True
    assert set(result.files["verify"].split()) == {"0"}
    assert number(result, "before") > 1000
    code, moved, active = map(int, result.files["interrupted"].split())
    assert code == 124 and moved > 0 and active == 1, "it was not interrupted"
    assert number(result, "code") == 0 and number(result, "physical") == 0
    assert "/dev/" not in result.files["swaps"]
    assert fields(result, "vmstat")["vswap_evacuate"] > 250
    assert (result.end.slots_used, result.end.physical) == (0, 0)


def test_swapoff_refused(boot_guest: Boot) -> None:
    """What does not fit in memory stays on the device; nothing is killed for it."""
    result = boot_guest(
        SWAPOFF
        + """
start out $(available 100 56000); used > $RESULTS/before
swapoff $dev 2>$RESULTS/err; echo $? > $RESULTS/code; verify > $RESULTS/verify
keep swaps /proc/swaps
finish; left
""",
        mem_bytes=120 * MIB,
        swap="file:128M",
        mode="always",
        zswap=False,
    )
    assert answer(result, "out.json")["verified"] is True
    assert number(result, "verify") == 0 and number(result, "before") > 10000
    assert number(result, "code") != 0 and "memory" in result.files["err"]
    assert "/dev/" in result.files["swaps"] and result.oom_kills == []
    assert nothing_is_left(result)


TO_ANOTHER = (
    HELD
    + """
dev=$(device); echo N > $Z/enabled
group a
start noise a --size 54M --random 100 --pageout
start text a --size 60M --pageout
echo 200M 2> /dev/null > $CG/a/memory.reclaim  # the swap cache
mkswap $(scratch) > /dev/null; swapon $(scratch); echo Y > $Z/enabled
group hog; echo 0 > $CG/hog/memory.swap.max
start hog hog --size $(available 100 -40960) --random 100 --passes 1
used > $RESULTS/before
swapoff $dev; echo $? > $RESULTS/code; verify > $RESULTS/verify; used > $RESULTS/after
for name in hog noise text; do finish $name; done
"""
)


def test_swapoff_to_another_device(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """What neither compresses nor fits in memory goes there, also while the first is nearly full."""
    if emulated_with_checkers(pytestconfig):
        pytest.skip("programs come over 9p, which with the checkers on needs the memory that is left")
    result = boot_guest(
        TO_ANOTHER, mem_bytes=200 * MIB, swap="file:128M", scratch=64 * MIB, mode="always", pool_percent=20
    )
    for name in ("hog", "noise", "text"):
        assert answer(result, f"{name}.json")["verified"] is True
    # In use on the first is more than is free on the other until a good part has been moved.
    assert number(result, "before") > 100 * 1024
    assert number(result, "code") == 0 and number(result, "verify") == 0
    assert 40 * 1024 < number(result, "after") <= 64 * 1024
    assert result.oom_kills == []


# Both devices have the same priority, so each has a part. A group that never rests reclaims meanwhile: to either
# device, to zswap, and to devices that are going.
TWO_AT_ONCE = (
    HELD
    + """
first=$(device); second=$(scratch)
mkswap $second > /dev/null; swapoff $first; swapon -p 1 $first; swapon -p 1 $second
group a; start text a --size 48M --text 40
group b; echo 16M > $CG/b/memory.high  # without a device there is nowhere to go, and a limit would kill
in_group b swapcheck --mode churn --size 32M --threads 2 --text 40 --seconds $((12 * SLOWER)) --json \\
  > $RESULTS/churn.json & churn=$!
n=0
while [ $n -lt 6 ] && kill -0 $churn 2> /dev/null; do
  n=$((n + 1)); [ $((n % 2)) = 0 ] && echo Y > $Z/enabled || echo N > $Z/enabled
  echo 48M 2> /dev/null > $CG/a/memory.reclaim
  awk 'NR > 1 { print $4 }' /proc/swaps >> $RESULTS/before
  swapoff $first & swapoff $second; echo $? >> $RESULTS/codes; wait $!; echo $? >> $RESULTS/codes
  verify >> $RESULTS/verify; cat $V/physical >> $RESULTS/physical
  swapon -p 1 $first; swapon -p 1 $second
done
echo max > $CG/b/memory.high; wait $churn; finish text; settle
"""
)


def test_two_swapoffs_at_once(boot_guest: Boot) -> None:
    """Each moves the data of its device and no other, while a group reclaims all the time."""
    result = boot_guest(
        TWO_AT_ONCE, cpus=2, mem_bytes=300 * MIB, swap="file:128M", scratch=128 * MIB, mode="always",
        pool_percent=10, timeout=600.0,
    )  # fmt: skip
    for name in ("text", "churn"):
        assert answer(result, f"{name}.json")["verified"] is True, result.output
    codes = result.files["codes"].split()
    assert set(codes) == {"0"} and len(codes) >= 6
    assert set(result.files["verify"].split()) == {"0"} and set(result.files["physical"].split()) == {"0"}
    # Without zswap each device had a good part of 48 MB before it was removed.
    assert all(int(kb) > 4096 for kb in result.files["before"].split()[:2]), result.files["before"]
    assert result.oom_kills == [] and (result.end.slots_used, result.end.physical) == (0, 0)


# The same is to be seen without virtual swap.
OFF = pytest.mark.kernel("vswap-off", "um", "debug")
FAULTS = pytest.mark.kernel("vswap", "um", "debug", checkers=True)

ERRORS = (
    SWAPOFF
    + """
F=/sys/kernel/debug/fail_make_request
echo 0 > $F/verbose; echo 1 > $F/interval
disk=/sys/block/$(basename $dev)/make-it-fail
fail() { echo $2 > $F/times; echo $1 > $F/probability; echo $(($1 > 0)) > $disk; }
cont() { kill -CONT $(cat $CG/$1/cgroup.procs) 2>/dev/null; }
errors() { dmesg | grep -ci "$1.error on swap"; }
"""
)


@FAULTS
@pytest.mark.parametrize("kernel", ["vswap", pytest.param("vswap-off", marks=OFF)])
def test_write_errors(boot_guest: Boot, kernel: str) -> None:
    """A page that could not be written stays in memory, and is written again later."""
    result = boot_guest(
        ERRORS
        + """
group a
( echo 0 > $CG/a/cgroup.procs; exec swapcheck --size 24M --passes 2 --rewrite 20 --reclaim \\
    --ready-file /run/ready --wait-file /run/go --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
kill -STOP $(cat $CG/a/cgroup.procs)  # nothing is to be read meanwhile
fail 40 -1; within 5 sh -c "echo 24M > $CG/a/memory.reclaim" 2>/dev/null; sleep 0.2; fail 0 0
errors write > $RESULTS/errors; verify > $RESULTS/verify
kill -CONT $(cat $CG/a/cgroup.procs)
touch /run/go; wait $pid; settle
""",
        kernel=kernel,
        swap="file:128M",
        mode="always",
        zswap=False,
        expected=["Write-error on swap-device"],
    )
    assert answer(result, "out.json")["verified"] is True
    assert number(result, "errors") > 0 and number(result, "verify") == 0
    assert (result.end.slots_used, result.end.physical) == (0, 0)


@FAULTS
@pytest.mark.parametrize(
    ("kernel", "swapoff"),
    [("vswap", False), ("vswap", True), pytest.param("vswap-off", False, marks=OFF)],
    ids=["fault", "swapoff", "fault-off"],
)
def test_read_errors(boot_guest: Boot, kernel: str, swapoff: bool) -> None:
    """Who needs the page is killed, nobody else; its slot can be freed.

    That is a worker of the program or, since it is in the group as well, the process that watches it.
    The device may be taken away all the same: what could not be read is remembered as lost. Mainline
    remembers it as poisoned memory then, which User-Mode Linux has no answer to but BUG().
    """
    fault = "fail 100 -1; touch /run/go-a; cont a; wait $a; code=$?; fail 0 0"
    off = "fail 100 1; swapoff $dev; echo $? > $RESULTS/off; fail 0 0; verify >> $RESULTS/verify"
    result = boot_guest(
        ERRORS
        + f"""
for p in a b; do
  group $p
  ( echo 0 > $CG/$p/cgroup.procs; exec swapcheck --size 8M --pageout --passes 1 \\
    --ready-file /run/ready-$p --wait-file /run/go-$p --json > $RESULTS/$p.json ) & eval $p=$!
  while [ ! -e /run/ready-$p ]; do sleep 0.1; done
  sleep 0.3; kill -STOP $(cat $CG/$p/cgroup.procs)
  echo 7M > $CG/$p/memory.reclaim  # what has been written leaves the swap cache
done
echo $(($(used) / 4)) > $RESULTS/physical
{off if swapoff else fault}
verify >> $RESULTS/verify; touch /run/go-a /run/go-b; cont a; cont b
[ -n "${{code-}}" ] || {{ wait $a; code=$?; }}
echo $code > $RESULTS/code; wait
errors read > $RESULTS/errors; settle; verify >> $RESULTS/verify
""",
        kernel=kernel,
        swap="file:128M",
        mode="always",
        zswap=False,
        expected=["Read-error on swap-device"],
    )
    assert number(result, "physical") > 3000 and number(result, "errors") > 0
    assert set(result.files["verify"].split()) == {"0"}
    if number(result, "code") != 128 + signal.SIGBUS:
        first = answer(result, "a.json")
        assert first["verified"] is False and first["mismatches"] == 0
        assert first["modes"][0]["killed"], first
    assert answer(result, "b.json")["verified"] is True
    if swapoff:
        assert number(result, "off") == 0
    assert (result.end.slots_used, result.end.physical) == (0, 0)


RACE = """
dev=$(device)
group a; echo 24M > $CG/a/memory.high
in_group a swapcheck --mode churn --size 40M --threads 2 --text 40 --seconds %(seconds)d \\
  --json > $RESULTS/a.json & a=$!
in_group a swapcheck --mode fork,shm-memfd,mremap --size 12M --text 40 --children 4 --reclaim \\
  --rewrite 20 --json > $RESULTS/b.json & b=$!
n=0 offs=0
while kill -0 $a 2>/dev/null; do
  for m in always auto never always; do echo $m > $V/mode; sleep 0.2; done
  swapoff $dev 2>/dev/null && offs=$((offs+1)); sleep 0.2; swapon $dev 2>/dev/null
  echo N > $Z/enabled; sleep 0.3; echo Y > $Z/enabled
  echo 1 > $Z/max_pool_percent; sleep 0.3; echo 3 > $Z/max_pool_percent
  verify >> $RESULTS/verify; n=$((n+1))
done
wait; grep -q $dev /proc/swaps || swapon $dev
echo $n > $RESULTS/rounds; echo $offs > $RESULTS/offs; grep -E 'zswpwb|vswap' /proc/vmstat > $RESULTS/vmstat
settle; sleep 0.5; keep swap $CG/a/memory.swap.current
"""


@pytest.mark.parametrize("seconds", [60, pytest.param(600, marks=pytest.mark.long)])
def test_everything_races(boot_guest: Boot, seconds: int) -> None:
    """Out, in, writeback, swapoff, fork, exit and mode switches against each other."""
    result = boot_guest(
        RACE % {"seconds": seconds},
        cpus=2,
        mem_bytes=200 * MIB,
        swap="file:128M",
        pool_percent=3,
        timeout=seconds + 400.0,
    )
    for name in "ab":
        report = answer(result, f"{name}.json")
        assert report["verified"] is True, f"{json.dumps(report)} {result.oom_kills} {result.output}"
    assert set(result.files["verify"].split()) == {"0"}
    assert number(result, "rounds") >= 3 and number(result, "offs") >= 1
    events = fields(result, "vmstat")
    assert events["zswpwb"] > 0 and events["vswap_slot_alloc"] == events["vswap_slot_free"] > 0
    assert number(result, "swap") == 0
    assert (result.end.slots_used, result.end.physical) == (0, 0)
