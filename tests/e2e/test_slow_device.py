# SPDX-License-Identifier: GPL-2.0
"""Writeback to a device that is slow, does not answer, fails or is full: reclaim does not wait for it."""

import json
import logging
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

import vswaplab
from tests.e2e.common import MIB, Boot, answer, fields, number, patience
from vswaplab import paths
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
    """The command of a program that runs in the guest."""
    return f"PYTHONPATH={paths.repo_root()} python3 {Path(__file__).with_name(f'{name}_in_guest.py')}"


# swap_table NAME < TABLE: swap to a device of the device mapper, and to nothing else. @ in the table is the disk.
# swap_on NAME TARGET: the same, if all of it is one target.
PRELUDE = """
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
sectors() { disk=$(device); cat /sys/block/${disk##*/}/size; }
swap_table() {
  disk=$(device); swapoff $disk
  # Where memory is short the device mapper waits for one of its own requests to end: let it have enough.
  echo 1024 > /sys/module/dm_mod/parameters/reserved_bio_based_ios
  sed "s,@,$disk,g" | dmsetup create --noudevsync --noudevrules $1 || exit 1
  dm=/dev/dm-0
  mkswap $dm > /dev/null && swapon $dm || exit 1
}
swap_on() {
  swap_table $1 << END
0 $(sectors) $2
END
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
export SIZE=$(available 100 56000); [ ${SIZE%%K} -gt 225280 ] || SIZE=220M
cat > /run/load <<'EOF'
(echo 0 > /sys/fs/cgroup/a/cgroup.procs
exec swapcheck -P 2 --size $SIZE --text 30 --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json=$RESULTS/out.json > /dev/null) & echo $! > /run/pid
while [ ! -e /run/ready ] && kill -0 $!; do sleep 0.1; done
EOF
%(helper)s sh /run/load > $RESULTS/waits
grep zswpwb /proc/vmstat > $RESULTS/vmstat
touch /run/go
while kill -0 $(cat /run/pid); do sleep 0.2; done 2>/dev/null
swap_off
"""
)
# Ours may be above mainline's by this much: a single run varies by a quarter and more, a median of five less.
MORE, SLACK = {1: 1.5, 5: 1.25}, 0.05


def waiting(result: GuestResult) -> dict[str, float]:
    """Seconds in D state per second of the load, of kswapd and of all tasks that reclaim; the data is verified."""
    assert answer(result, "out.json")["verified"] is True, (result.output, result.oom_kills)
    assert number(result, "swapoff") == 0 and fields(result, "vmstat")["zswpwb"] > 100
    seen = answer(result, "waits")
    assert seen["code"] == 0 and seen["lost_events"] == 0 and seen["events"] > 100, seen
    logging.info("%s %s", result.hello.get("mode"), seen)
    return {name: seen[name]["seconds"] / seen["seconds"] for name in ("kswapd", "tasks")}


@kernels("release")
@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.long)])
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
        assert vswap <= MORE[rounds] * mainline + SLACK, (name, shares)


HANG = (
    PRELUDE
    + """
swap_on slow "linear @ 0"
group reader
%(helper)s reader slow %(seconds)d > $RESULTS/out.json; echo $? > $RESULTS/code
grep -E "zswpwb|vswap_overtake" /proc/vmstat > $RESULTS/vmstat
swap_off
"""
)
HANGS = [10, pytest.param(30, marks=pytest.mark.long)]
# For seconds that all may be read in, emulated with the checkers on; after 120 the kernel reports hung tasks.
LONG_HANG = 60


@kernels("release")
@pytest.mark.parametrize("seconds", HANGS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_page_is_read_while_it_is_written_back(
    boot_guest: Boot, pytestconfig: pytest.Config, kernel: str, seconds: int
) -> None:
    """To a device that does not answer: its data is in memory, nobody has to wait for the device."""
    hang = int(min(patience(seconds, pytestconfig), max(seconds, LONG_HANG)))
    result = boot_guest(
        HANG % {"helper": helper("hang"), "seconds": hang}, kernel=kernel, flavour="release",
        mem_bytes=160 * MIB, swap="file:128M", pool_percent=25, cpus=2,
    )  # fmt: skip
    assert number(result, "code") == 0 and number(result, "swapoff") == 0, result.output  # all was verified
    seen = answer(result, "out.json")
    logging.info("%s: %s", kernel, seen)
    assert seen["before"]["zswpout"] >= 5900 and seen["before"]["zswpwb"] == 0, seen
    # Ours are not under writeback as far as their folio is concerned: nobody has to wait for it.
    flight = seen["in_flight"]
    assert flight["nr_writeback"] > 0 or flight["pswpout"] > flight["zswpwb"], seen
    assert seen["worst"] < 1 and seen["ended_during_hang"], seen
    # What was read meanwhile is written on mainline; on ours the flights are overtaken.
    assert fields(result, "vmstat")["vswap_overtake" if kernel == "vswap" else "zswpwb"] > 0
    assert result.end.slots_used == 0


# Two devices of one priority. All requests of writeback are with the one that hangs; what has slots of the
# other one cannot be submitted.
OTHER = (
    PRELUDE
    + """
disk=$(device); half=$(($(sectors) / 2)); swapoff $disk
echo "0 $half linear $disk 0" | dmsetup create --noudevsync --noudevrules hung || exit 1
echo "0 $half linear $disk $half" | dmsetup create --noudevsync --noudevrules fine || exit 1
for dm in /dev/dm-0 /dev/dm-1; do mkswap $dm > /dev/null && swapon -p 5 $dm || exit 1; done
group reader
%(helper)s other hung %(seconds)d > $RESULTS/out.json; echo $? > $RESULTS/code
swapoff /dev/dm-0; echo $? > $RESULTS/swapoff
"""
)


@pytest.mark.kernel("vswap", "um", "release")
def test_a_device_is_removed_while_another_hangs(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """What was to be written to it stays in zswap."""
    seconds = int(patience(10, pytestconfig))
    result = boot_guest(
        OTHER % {"helper": helper("hang"), "seconds": seconds}, flavour="release",
        mem_bytes=768 * MIB, swap="file:128M", pool_percent=25, cpus=1,
    )  # fmt: skip
    assert number(result, "code") == 0 and number(result, "swapoff") == 0, result.output  # all was verified
    seen = answer(result, "out.json")
    assert min(seen["used"].values()) > 0 and seen["used"]["/dev/dm-1"] // 4096 > seen["written"], seen
    assert seen["code"] == 0 and seen["took"] < seconds, seen
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
%(helper)s bystanders slow %(seconds)d $SCRATCH > $RESULTS/out.json; echo $? > $RESULTS/code
swap_off
"""
)
STALL = 2  # seconds: of an operation, or of kswapd
# What is left of the usual rate, at least. The short test runs beside other guests, and its rates vary more.
RATE = {10: 1 / 4, 30: 1 / 2}


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("seconds", HANGS)
def test_others_go_on_while_the_device_hangs(boot_guest: Boot, seconds: int) -> None:
    """Reading files, using memory and data in zswap go on at a good part of their usual rate; nobody stalls.

    A group that reclaims memory beyond its share of zswap writes to the device that hangs. It goes on, but slower:
    one step a second instead of five, and the first may take seconds, as what is being written does not count as
    reclaimed. On mainline it is as fast as before, and the group with data in zswap suffers: its rate falls from
    2,400 pages a second to 100, with a longest wait of 0.9 s.
    """
    result = boot_guest(
        "SCRATCH=$(scratch)\n" + OTHERS % {"helper": helper("hang"), "seconds": seconds},
        flavour="release", mem_bytes=240 * MIB, swap="file:256M", scratch=700 * MIB, pool_percent=30, cpus=2,
        timeout=seconds + 90.0,
    )  # fmt: skip
    assert number(result, "code") == 0 and number(result, "swapoff") == 0, result.output
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert set(seen["codes"]) == {0}, result.output  # all was verified
    others = ("reader", "zswapped", "memory")
    assert all(seen[name]["longest"] < STALL for name in others) and seen["kswapd"] < STALL, seen
    assert all(seen[name]["hang"] >= RATE[seconds] * seen[name]["usual"] for name in others), seen
    assert seen["reclaimer"]["hang"] > 0, seen
    usual, hang = seen["vmstat"][1:]
    assert hang["pswpout"] - hang["zswpwb"] > usual["pswpout"] - usual["zswpwb"], "nothing waits for the device"
    # Processes outside any group may leave pages in the swap cache, in memory, until reclaim comes by.
    end = result.end
    assert (end.zero, end.zswap, end.physical) == (0, 0, 0) and end.slots_used < 64, end


FAILING = (
    PRELUDE
    + """
F=/sys/kernel/debug/fail_make_request
dev=$(device); disk=/sys/block/${dev##*/}/make-it-fail
echo 0 > $F/verbose; echo 1 > $F/interval
fail() { echo $2 > $F/times; echo $1 > $F/probability; echo $(($1 > 0)) > $disk; }
errors() { dmesg | grep -ci "write.error on swap"; }
push() { for i in 1 2 3 4 5; do within 5 sh -c "echo 24M > $CG/a/memory.reclaim"; done 2>/dev/null; }
zswapped() { awk '/^zswapped / { print $2 }' $CG/a/memory.stat; }
group a
in_group a swapcheck --size 24M --text 50 --passes 2 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
kill -STOP $(cat $CG/a/cgroup.procs)  # nothing is to be read meanwhile
push; zswapped > $RESULTS/before
fail %(percent)d -1; echo Y > $Z/shrinker_enabled; push; sleep 0.3; fail 0 0
zswapped > $RESULTS/failed; errors > $RESULTS/errors; verify > $RESULTS/verify; cat $V/physical > $RESULTS/physical
sleep 0.5; half=$(($(cat $RESULTS/before) / 2))
for i in $(seq 20); do push; sleep 0.3; [ $(zswapped) -ge $half ] || break; done  # a try writes a pool of flights
zswapped > $RESULTS/after; verify >> $RESULTS/verify
kill -CONT $(cat $CG/a/cgroup.procs); touch /run/go; wait $pid; settle
"""
)


@pytest.mark.kernel("vswap", "um", "debug", checkers=True)
@pytest.mark.parametrize("percent", [100, 40])
def test_what_cannot_be_written_stays_in_zswap(boot_guest: Boot, percent: int) -> None:
    """Writeback under write errors; when the device works again, it is written."""
    result = boot_guest(
        FAILING % {"percent": percent}, mem_bytes=160 * MIB, swap="file:64M", pool_percent=50, cpus=2,
        expected=["Write-error on swap-device"],
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True, result.output
    assert number(result, "errors") > 0 and set(result.files["verify"].split()) == {"0"}
    before, failed, after = (number(result, name) for name in ("before", "failed", "after"))
    logging.info("in zswap: %d, %d, %d; errors %s", before, failed, after, result.files["errors"])
    assert before > 20 * MIB and after < before / 2, (before, failed, after)
    if percent == 100:
        # Nothing has left; a few pages that were in memory before may have come.
        assert before <= failed <= 24 * MIB * 1.1 and number(result, "physical") == 0, (before, failed, after)
    assert (result.end.slots_used, result.end.physical) == (0, 0)


AT_LIMIT = (
    PRELUDE
    + """
F=/sys/kernel/debug/fail_make_request
dev=$(device); echo 0 > $F/verbose; echo 1 > $F/interval; echo -1 > $F/times; echo 100 > $F/probability
echo 1 > /sys/block/${dev##*/}/make-it-fail
group a; echo 8M > $CG/a/memory.zswap.max; echo Y > $Z/shrinker_enabled
in_group a swapcheck --size 64M --passes 1 --random 0 --zero 0 --text 60 --ready-file /run/ready \\
  --wait-file /run/go --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
most=0
for i in $(seq $((SLOWER > 3 ? 10 : 30))); do  # each may take its time; the load waits for ten minutes
  within 2 sh -c "echo 8M > $CG/a/memory.reclaim"; now=$(cat $CG/a/memory.zswap.current)
  [ $now -le $most ] || most=$now
done 2>/dev/null
echo $most > $RESULTS/most; dmesg | grep -ci "write.error on swap" > $RESULTS/errors
echo 0 > /sys/block/${dev##*/}/make-it-fail; touch /run/go; wait $pid; settle
"""
)


@pytest.mark.kernel("vswap", "um", "debug", checkers=True)
def test_a_failing_device_lifts_no_limit(boot_guest: Boot) -> None:
    """Data to be written makes room below memory.zswap.max. Once writing fails, nothing is taken for it."""
    result = boot_guest(
        AT_LIMIT, mem_bytes=192 * MIB, swap="file:128M", pool_percent=50, cpus=2, timeout=600.0,
        expected=["Write-error on swap-device"],
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True, result.output
    logging.info("at most %s bytes in zswap, %s errors", result.files["most"], result.files["errors"])
    assert number(result, "errors") > 0
    # Until the first request has failed, what is in flight counts as written: 192 pages, compressed.
    assert 6 * MIB < number(result, "most") < 8.5 * MIB
    assert (result.end.slots_used, result.end.physical) == (0, 0)


# A pool of two megabytes and a device of eight, or a group that may have no more than eight on a larger one. When
# all of it is full, a megabyte is asked for twenty times, three times over.
FULL = (
    PRELUDE
    + """
echo Y > $Z/shrinker_enabled
group a; echo %(swap_max)s > $CG/a/memory.swap.max
counts() { cat /sys/kernel/debug/zswap/reject_reclaim_fail; cut -d' ' -f2 $CG/a/memory.swap.events; }
in_group a swapcheck --size 64M --text 30 --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
kill -STOP $(cat $CG/a/cgroup.procs)
within 10 sh -c "echo 60M > $CG/a/memory.reclaim" 2>/dev/null
counts > $RESULTS/before
cat > /run/push <<EOF
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  echo 1M > $CG/a/memory.reclaim
done 2>/dev/null
EOF
for turn in 1 2 3; do
  awk '/^cpu / { print $4 }' /proc/stat > /run/sys
  within 60 sh /run/push
  awk -v before=$(cat /run/sys) '/^cpu / { print $4 - before }' /proc/stat >> $RESULTS/ticks
done
counts > $RESULTS/counts; used > $RESULTS/used
kill -CONT $(cat $CG/a/cgroup.procs); touch /run/go; wait $pid
"""
)


ASKED = 3 * 20
IN_VAIN = 100  # tries for each time that memory is asked for; mainline makes none


@kernels("release")
@pytest.mark.parametrize("limit", ["device", "group"])
def test_nothing_is_tried_again_and_again_when_it_is_full(boot_guest: Boot, limit: str) -> None:
    """Of zswap's entries none can be written: few are tried, few events counted, little CPU time is spent."""
    counts: dict[str, list[list[int]]] = {}
    ticks: dict[str, int] = {}
    for kernel in KERNELS:
        result = boot_guest(
            FULL % {"swap_max": "max" if limit == "device" else "8M"}, kernel=kernel, flavour="release",
            mem_bytes=200 * MIB, swap="file:8M" if limit == "device" else "file:64M", pool_percent=1, cpus=2,
        )  # fmt: skip
        assert answer(result, "out.json")["verified"] is True, result.output
        assert number(result, "used") > 7 << 10
        # zswap's reject_reclaim_fail; high, max and fail of memory.swap.events
        counts[kernel] = [[int(word) for word in result.files[name].split()] for name in ("before", "counts")]
        # The host's other work counts as the guest's: the quickest turn.
        ticks[kernel] = min(map(int, result.files["ticks"].split()))
    logging.info("%s %s %s", limit, counts, ticks)
    asked = [after - before for before, after in zip(*counts["vswap"], strict=True)]
    assert max(asked) <= ASKED * IN_VAIN, (counts, ticks)
    # While it became full no page was tried twice. How often mainline tries depends on luck: 74 to 13,600.
    assert counts["vswap"][0][2] <= max(64 * MIB // 4096, 2 * counts["mainline"][0][2]), (counts, ticks)
    assert ticks["vswap"] <= 1.5 * ticks["mainline"] + 10, (counts, ticks)  # of 10 ms


@pytest.mark.long
@kernels("release")
def test_latency_while_writing_back(tmp_path: Path) -> None:
    """SQLite's queries, and touching swapped-out pages, with a small pool: p99 is not above mainline's.

    By the benchmark's own verdict over seven rounds, and with a ratio of medians of at most 1.1.
    """
    out = tmp_path / "bench.json"
    command = [sys.executable, "-m", "vswaplab", "bench", "touch", "sqlite", "--setups", "zswap-full"]
    command += ["--pressure", "memcg", "--mem", "96M", "--cpus", "1", "--rounds", "7", "--fresh"]
    environment = {**os.environ, "PYTHONPATH": str(Path(vswaplab.__file__).parents[1])}
    command += ["--json", str(out)]
    subprocess.run(command, check=True, timeout=3600, env=environment, stdout=subprocess.DEVNULL)
    rows = [row for row in json.loads(out.read_text())["results"] if row["metric"].endswith("p99")]
    # Each with the default readahead and with none.
    assert sorted(row["metric"] for row in rows) == sorted(2 * ["p99", "read p99", "write p99"])
    assert all(row["ratio"] for row in rows), rows
    figures = {
        f"{row['suite']} {row['setup']} {row['metric']}": (row["ratio"], row["ci95"], row["verdict"])
        for row in rows
    }
    logging.info("%s", figures)
    for row in rows:
        assert row["verdict"] != "worse" and row["ratio"] <= 1.1, figures


# One group has its data in zswap, the other on a device that suddenly has errors only.
VANISHES = (
    PRELUDE
    + """
swap_on gone "linear @ 0"
group zswapped; echo 0 > $CG/zswapped/memory.zswap.writeback
group written; echo 0 > $CG/written/memory.zswap.max
for g in zswapped written; do
  in_group $g swapcheck --size 24M --text 30 --random 0 --reclaim --passes 2 --rewrite 20 \\
    --ready-file /run/ready-$g --wait-file /run/go-$g --json > $RESULTS/$g.json & eval $g=$!
done
while [ ! -e /run/ready-zswapped ] || [ ! -e /run/ready-written ]; do sleep 0.1; done
echo $(($(used) / 4)) > $RESULTS/used
dmsetup suspend --noudevsync gone
echo "0 $(cat /sys/block/dm-0/size) error" | dmsetup load gone && dmsetup resume --noudevsync --noudevrules gone
touch /run/go-zswapped; wait $zswapped; echo $? > $RESULTS/zswapped
in_group written swapcheck --size 16M --random 0 --pageout --passes 1 --json > $RESULTS/more.json
touch /run/go-written; wait $written; echo $? > $RESULTS/written
verify > $RESULTS/verify; swap_off; verify >> $RESULTS/verify
settle
"""
)


@pytest.mark.kernel("vswap", "um", "debug")
def test_device_vanishes(boot_guest: Boot) -> None:
    """Who has data in zswap, or can stay in memory, loses nothing; who reads what was there is killed."""
    result = boot_guest(
        VANISHES, mem_bytes=192 * MIB, swap="file:128M", pool_percent=50, cpus=2, mode="always",
        expected=["Write-error on swap-device", "Read-error on swap-device"],
    )  # fmt: skip
    assert number(result, "used") > 4000 and number(result, "swapoff") == 0, result.output
    assert number(result, "zswapped") == 0 and answer(result, "zswapped.json")["verified"] is True
    assert answer(result, "more.json")["verified"] is True, result.output
    assert number(result, "written") != 0 and set(result.files["verify"].split()) == {"0"}
    assert (result.end.slots_used, result.end.physical) == (0, 0)


# Of each 512 KB of the device the last 32 are slow, so that swapoff waits in each batch for a few reads. Meanwhile
# a process reads what is in memory again and not yet given to reclaim. What it maps is locked.
LOCKED = (
    PRELUDE
    + """
awk -v size=$(sectors) 'BEGIN {
  for (at = 0; at < size; at += 1024) {
    print at, 960, "linear @", at
    print at + 960, 64, "delay @", at + 960, 30, "@", at + 960, 0
  }
}' > /run/table
swap_table slow < /run/table
group a
cat > /run/locked.py <<'EOF'
import ctypes, mmap, os, subprocess, sys, time
CG = os.environ["CG"]
sys.path.insert(0, "%(here)s")
from swapped_pages import PAGE, enter, fill, holds, page_out
PAGES, SYS_mlock2, MLOCK_ONFAULT = 4000, 325, 1
physical = lambda: int(open("/sys/kernel/mm/vswap/physical").read())
memory = mmap.mmap(-1, PAGES * PAGE)  # shared
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
enter("a")
fill(memory, range(PAGES))
page_out(memory, PAGES * PAGE)
for _ in range(30):  # they are written; now they leave memory
    try:
        open(CG + "/a/memory.reclaim", "w").write("16M")
    except OSError:
        pass
    if int(open(CG + "/a/memory.current").read()) < PAGES * PAGE // 8:
        break
    time.sleep(0.1)
print(physical())
assert ctypes.CDLL(None).syscall(SYS_mlock2, ctypes.c_void_p(start), len(memory), MLOCK_ONFAULT) == 0
swapoff, touched = subprocess.Popen(["swapoff", "/dev/dm-0"]), 0
while swapoff.poll() is None:
    done = PAGES - physical()
    for page in range(touched, done):  # they are in this order on the device
        memory[page * PAGE]
    touched = done
assert swapoff.returncode == 0
assert holds(memory, range(PAGES))
EOF
CG=$CG python3 /run/locked.py > $RESULTS/physical; echo $? > $RESULTS/code
"""
)


@pytest.mark.kernel("vswap", "um", "debug")
def test_swapoff_leaves_locked_memory_alone(boot_guest: Boot) -> None:
    """Folios that are locked between being read and being stored elsewhere: reclaim must not get them."""
    result = boot_guest(
        LOCKED % {"here": Path(__file__).parent},
        mem_bytes=256 * MIB, swap="file:64M", mode="always", zswap=False, cpus=2,
    )  # fmt: skip
    assert number(result, "code") == 0, result.output
    assert number(result, "physical") > 3500
