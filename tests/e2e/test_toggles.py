# SPDX-License-Identifier: GPL-2.0
"""zswap, its compressor, the mode and the pool change while memory is being swapped."""

import pytest

from tests.e2e.common import MIB, Boot, answer, fields, nothing_is_left, number

pytestmark = pytest.mark.kernel("vswap", "um", "debug")

UNDER_LOAD = """
group a; echo 30M > $CG/a/memory.high
in_group a swapcheck --mode churn --size 48M --threads 2 --seconds 8 --json > $RESULTS/out.json & pid=$!
n=0
while kill -0 $pid 2>/dev/null; do %s
  n=$((n+1)); sleep 0.1
done
echo $n > $RESULTS/rounds
"""


@pytest.mark.parametrize(
    "change",
    [
        "echo N > $Z/enabled; sleep 0.2; echo Y > $Z/enabled",
        "for c in lz4 zstd lzo; do echo $c > $Z/compressor; sleep 0.2; done",
        "for m in never always auto; do echo $m > $V/mode; sleep 0.1; done",
        "echo 1 > $Z/max_pool_percent; sleep 0.2; echo 80 > $Z/max_pool_percent",
    ],
    ids=["zswap", "compressor", "mode", "pool"],
)
def test_under_load(boot_guest: Boot, change: str) -> None:
    result = boot_guest(UNDER_LOAD % change, cpus=2)
    report = answer(result, "out.json")
    assert report["verified"] is True, f"{result.files['out.json']} {result.oom_kills} {result.output}"
    assert number(result, "rounds") >= 5
    assert result.samples[-1].vmstat.get("zswpout", 1) > 0


def test_compaction_under_load(boot_guest: Boot) -> None:
    """A small pool is always full, and compacted and written back; the pool that is compacted changes."""
    compact = "echo 2 > /proc/sys/vm/drop_caches"  # by zsmalloc's shrinker, beside the other two
    change = f"for c in lz4 zstd lzo; do echo $c > $Z/compressor; {compact}; sleep 0.1; done"
    result = boot_guest(UNDER_LOAD % change, cpus=2, swap="file:256M", pool_percent=1)
    report = answer(result, "out.json")
    assert report["verified"] is True, f"{result.files['out.json']} {result.oom_kills} {result.output}"
    assert number(result, "rounds") >= 3
    assert result.samples[-1].vmstat["zswpwb"] > 100


def test_mode_takes_three_words(boot_guest: Boot) -> None:
    result = boot_guest(
        """
keep boot $V/mode
for m in auto always never; do echo $m > $V/mode; cat $V/mode; done > $RESULTS/modes
echo sometimes > $V/mode 2>/dev/null; echo $? > $RESULTS/bad
keep after $V/mode
grep -H . $V/* > $RESULTS/all
""",
        mode="always",
    )
    assert result.files["boot"].strip() == "always"
    assert result.files["modes"].split() == ["auto", "always", "never"]
    assert number(result, "bad") != 0 and result.files["after"].strip() == "never"
    names = {line.rsplit("/", 1)[1].partition(":")[0] for line in result.files["all"].splitlines()}
    assert names == {
        "mode", "slots_used", "slots_max", "zero", "zswap", "physical", "cached", "refused", "metadata_bytes",
        "free_contiguous",
    }  # fmt: skip


def test_never_is_mainline_without_swap(boot_guest: Boot) -> None:
    result = boot_guest("swapcheck --size 16M --pageout --json > $RESULTS/out.json", mode="never")
    assert answer(result, "out.json")["verified"] is True
    assert result.peak.slots_used == 0 and result.peak.zswap == 0


@pytest.mark.parametrize(
    ("mode", "zswap", "virtual"),
    [("auto", True, True), ("auto", False, False), ("always", False, True), ("never", True, False)],
)
def test_with_a_device(boot_guest: Boot, mode: str, zswap: bool, virtual: bool) -> None:
    """auto leaves a machine that swaps to one device as it was; it uses virtual slots for zswap."""
    result = boot_guest(
        "swapcheck --size 16M --pageout --passes 1 --hold 1 --json > $RESULTS/out.json; settle",
        mode=mode,
        zswap=zswap,
        swap="file:128M",
    )
    assert answer(result, "out.json")["verified"] is True
    assert (result.peak.slots_used > 1000) is virtual
    # With zswap in front, nothing has to be on the device; a direct entry takes a slot there.
    assert (result.device_slots_peak > 1000) is not (virtual and zswap)
    assert result.swapoff_seconds is not None and result.end.slots_used == 0


def test_device_comes_and_goes(boot_guest: Boot) -> None:
    """Slots of both kinds at once. Who has virtual ones keeps them when the mode changes."""
    result = boot_guest(
        """
dev=$(device); swapoff $dev
swapcheck --size 24M --pageout --passes 3 --rewrite 30 --ready-file /run/1 --hold 4 \
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/1 ] && kill -0 $pid; do sleep 0.1; done
keep virtual $V/slots_used
swapon $dev; echo never > $V/mode; keep after $V/slots_used
swapcheck --size 16M --pageout --passes 3 --json > $RESULTS/other.json; wait $pid
""",
        swap="file:128M",
    )
    assert answer(result, "out.json")["verified"] is True
    assert answer(result, "other.json")["verified"] is True
    assert number(result, "virtual") > 1000 and number(result, "after") > 1000
    assert result.device_slots_peak > 1000 and result.end.slots_used == 0


FIRST_USE = """
group a; echo 30M > $CG/a/memory.high
allocated() { awk '$1 == "vswap_alloc" { print $2 }' /proc/vmstat; }
in_group a swapcheck --mode churn --size 48M --threads 2 --seconds 12 --json > $RESULTS/out.json & pid=$!
while [ $(used) -lt 8000 ] && kill -0 $pid 2>/dev/null; do sleep 0.1; done
used > $RESULTS/used; allocated > $RESULTS/before
%s
wait $pid; allocated > $RESULTS/after
swapoff /dev/zram0 2> /dev/null; left
"""


@pytest.mark.parametrize(
    "change",
    [
        "echo Y > $Z/enabled",
        "echo always > $V/mode",
        "echo 64M > /sys/block/zram0/disksize; mkswap /dev/zram0 > /dev/null; swapon -p 5 /dev/zram0",
    ],
    ids=["zswap", "mode", "priority"],
)
def test_first_use_under_load(boot_guest: Boot, change: str) -> None:
    """A machine that swapped to one device, and has had no virtual slot, gets them in the middle."""
    result = boot_guest(FIRST_USE % change, zswap=False, swap="file:128M", cpus=2)
    assert answer(result, "out.json")["verified"] is True
    assert number(result, "before") == 0
    assert number(result, "after") > 1000
    assert number(result, "used") >= 8000 and nothing_is_left(result)


@pytest.mark.long
def test_everything_at_once(boot_guest: Boot) -> None:
    """Ten minutes of all changes against churn, fork and shared memory."""
    result = boot_guest(
        """
group a; echo 60M > $CG/a/memory.high
in_group a swapcheck --mode churn --size 90M -P 2 --seconds 600 --json > $RESULTS/out.json & pid=$!
while kill -0 $pid 2>/dev/null; do
  for m in never always auto; do echo $m > $V/mode; sleep 0.1; done
  for c in lz4 zstd lzo; do echo $c > $Z/compressor; sleep 0.1; done
  echo N > $Z/enabled; sleep 0.1; echo Y > $Z/enabled; verify >> $RESULTS/verify; sleep 0.5
done
""",
        mem_bytes=300 * MIB,
        cpus=2,
        timeout=1200.0,
    )
    assert answer(result, "out.json")["verified"] is True
    assert set(result.files["verify"].split()) == {"0"}


AT_ITS_LIMIT = """
echo N > $Z/shrinker_enabled
group a
( echo 0 > $CG/a/cgroup.procs; exec swapcheck --size 40M --text 100 --passes 1 --ready-file /run/ready \\
  --wait-file /run/go --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
for i in 1 2 3 4 5 6 7 8; do echo 4M > $CG/a/memory.reclaim; done 2>/dev/null
cat $CG/a/memory.swap.current > $CG/a/memory.swap.max  # as with a full device
slots > $RESULTS/virtual
grep ^zswpwb /proc/vmstat > $RESULTS/before
echo auto > $V/mode; echo Y > $Z/shrinker_enabled
cat $CG/a/memory.stat > /dev/null  # now the shrinker knows what is stored
for i in $(seq 100); do echo 2 > /proc/sys/vm/drop_caches; done
grep ^zswpwb /proc/vmstat > $RESULTS/after
touch /run/go; wait $pid
"""


def test_entries_of_a_device_are_written_back_at_the_limit(boot_guest: Boot) -> None:
    """They have their place there, as on mainline; the mode that came later is about new entries."""
    result = boot_guest(AT_ITS_LIMIT, swap="file:64M", mem_bytes=200 * MIB, mode="never")
    assert answer(result, "out.json")["verified"] is True, result.output
    assert number(result, "virtual") == 0
    before, after = (fields(result, name)["zswpwb"] for name in ("before", "after"))
    assert before == 0 and after > 1000
