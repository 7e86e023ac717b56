# SPDX-License-Identifier: GPL-2.0
"""At the edges: no virtual space, a full one, groups at their limits, the first virtual slot."""

import pytest

from tests.e2e.common import HELD, MIB, Boot, answer, emulated_with_checkers, fields, nothing_is_left, number
from tests.e2e.others import meminfo

NOW = "now() { read up _ < /proc/uptime; echo $up; }\n"


@pytest.mark.kernel("vswap", "um", "debug")
def test_no_virtual_space(boot_guest: Boot) -> None:
    """vswap.max_gb=0: the machine says so, not as an error, and has no virtual swap, whatever is asked of it."""
    result = boot_guest(
        """
dmesg -r | grep -c '<6>.*vswap: off' > $RESULTS/said
dev=$(device); group a
in_group a swapcheck --mode churn --size 40M --threads 2 --text 40 --seconds 5 \
  --json > $RESULTS/out.json & pid=$!
( while kill -0 $pid; do echo 16M > $CG/a/memory.reclaim; sleep 0.1; done ) 2> /dev/null &
while kill -0 $pid 2>/dev/null; do
  for m in always auto never always; do [ ! -e $V/mode ] || echo $m > $V/mode; done
  echo N > $Z/enabled; sleep 0.3; echo Y > $Z/enabled; sleep 0.3
  swapoff $dev && echo off >> $RESULTS/offs; swapon $dev
done
wait
swapcheck --mode shm-memfd,fork --size 8M --pageout --json > $RESULTS/more.json
grep -E 'zswpout|pswpout' /proc/vmstat > $RESULTS/vmstat
""",
        virtual=False,
        cpus=2,
        swap="file:128M",
        pool_percent=3,
        mode="always",
        extra_cmdline=("vswap.max_gb=0",),
    )
    assert number(result, "said") == 1
    assert answer(result, "out.json")["verified"] is True and answer(result, "more.json")["verified"] is True
    assert fields(result, "vmstat")["zswpout"] > 1000 and fields(result, "vmstat")["pswpout"] > 100
    assert len(result.files["offs"].split()) >= 2
    assert result.swapoff_error is None and result.peak.metadata_bytes == 0


FULL_GROUP = (
    HELD
    + """
dev=$(device)
group a; group b; echo 24M > $CG/a/memory.max; echo 24M > $CG/b/memory.high
start b b --size 40M --passes 1
start a a --size 48M --passes 1
keep current $CG/a/memory.current; used > $RESULTS/before
for try in 1 2 3; do
  within 60 swapoff $dev 2>> $RESULTS/err; code=$?; [ $code != 0 ] || break; sleep 1
done
echo $code > $RESULTS/code
keep swaps /proc/swaps; keep events $CG/a/memory.events
echo max > $CG/b/memory.high  # without swap nothing gets it below: it would read its own text again and again
finish a; finish b
"""
)


@pytest.mark.parametrize(
    ("kernel", "flavour"),
    [
        pytest.param("vswap", "debug", marks=pytest.mark.kernel("vswap", "um", "debug")),
        pytest.param(
            "mainline",
            "release",
            marks=[pytest.mark.kernel("mainline", "um", "release"), pytest.mark.long],
        ),
    ],
)
def test_a_full_group_cannot_veto_swapoff(boot_guest: Boot, kernel: str, flavour: str) -> None:
    """RAM is free, the group whose pages are on the device is at its limit: it pays, as on mainline.

    There the first swapoff keeps the memory of the process that is killed, and fails; the next one succeeds.
    Mainline's half is a long test: once, on a slow host, its swapoff did not return within a minute.
    """
    result = boot_guest(
        FULL_GROUP,
        kernel=kernel, flavour=flavour, swap="file:128M", mode="always", zswap=False, timeout=150.0,
    )  # fmt: skip
    assert number(result, "current") > 22 * MIB and number(result, "before") > 30 << 10
    assert number(result, "code") == 0 and "/dev/" not in result.files["swaps"], result.files["err"]
    assert answer(result, "b.json")["verified"] is True  # its limit only slows it down
    killed = fields(result, "events")["oom_kill"] > 0
    assert killed or answer(result, "a.json")["verified"] is True


# The program of the group that is refused is in memory that others pay for: the group would read its text again
# and again until it is killed, as on any kernel without swap, and that takes as long as the host likes.
FULL_SPACE = (
    NOW
    + """
cp $(command -v swapcheck) /run/
mkdir /run/big; mount -t tmpfs -o size=2G none /run/big
group a; group b; group c
echo 64M > $CG/a/memory.max; echo 24M > $CG/b/memory.max; echo 24M > $CG/c/memory.max
now > $RESULTS/start
in_group a dd if=/dev/zero of=/run/big/file bs=1M count=1400 2> $RESULTS/dd
now > $RESULTS/filled
keep events.a $CG/a/memory.events; keep used $V/slots_used; keep max $V/slots_max
in_group b timeout $((20 * SLOWER)) /run/swapcheck --size 60M --passes 1 --json > $RESULTS/refused.json
now > $RESULTS/refused; keep events.b $CG/b/memory.events
size=$(stat -c %s /run/big/file)
cmp -n $size /run/big/file /dev/zero && echo same > $RESULTS/same
rm /run/big/file; settle
in_group c swapcheck --size 60M --passes 2 --rewrite 20 --json > $RESULTS/room.json
settle; left
"""
)


@pytest.mark.kernel("vswap", "um", "release")
def test_full_virtual_space(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """A GiB of slots, all in use for zeroes: the next to reclaim is told at once that there is no room."""
    most = 240 if emulated_with_checkers(pytestconfig) else 60  # to write 1.4 GB
    result = boot_guest(
        FULL_SPACE,
        flavour="release",
        mem_bytes=512 * MIB,
        cpus=2,
        timeout=240.0,
        extra_cmdline=("vswap.max_gb=1",),
        expected=[f"{name}: page allocation failure: order:0, mode:0x" for name in ("swapcheck", "dd")],
    )
    start, filled, refused = (float(result.files[name]) for name in ("start", "filled", "refused"))
    assert number(result, "used") > 250_000, result.files
    assert fields(result, "events.a")["oom_kill"] == 1 and result.files["same"].strip() == "same"
    assert fields(result, "events.b")["oom_kill"] > 0, result.files["refused.json"]
    assert filled - start < most and refused - filled < 8, (start, filled, refused)
    assert answer(result, "room.json")["verified"] is True
    assert result.end.slots_used < 256


# Zeroes are swapped out, and some read again: they stay in memory, with or without their slots.
READ_AGAIN = """
cat > /run/zeroes.py <<'EOF'
import mmap, sys
size, again = (int(arg) << 20 for arg in sys.argv[1:])
def used(): return int(open("/sys/kernel/mm/vswap/slots_used").read())
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
for page in range(0, size, 4096): memory[page] = 0
memory.madvise(21)
before = used()
assert not any(memory[page] for page in range(0, again, 4096))
print(before, used())
EOF
python3 /run/zeroes.py %d 120 > $RESULTS/used; echo $? > $RESULTS/code; settle; left
"""


@pytest.mark.parametrize(
    ("flavour", "size", "freed"),
    [
        pytest.param(flavour, size, freed, marks=[pytest.mark.kernel("vswap", "um", flavour), *marks])
        for flavour, size, freed, *marks in (
            ("release", 300, False),
            ("release", 900, True),
            ("minimal", 300, False, pytest.mark.long),  # without memory control groups
            ("minimal", 900, True, pytest.mark.long),
        )
    ],
)
def test_slots_of_pages_in_memory_when_the_space_is_at_its_limit(
    boot_guest: Boot, flavour: str, size: int, freed: bool
) -> None:
    """They are kept: the next swap-out needs none then. When more than half of the space is in use, they go."""
    result = boot_guest(
        READ_AGAIN % size, flavour=flavour, mem_bytes=512 * MIB, extra_cmdline=("vswap.max_gb=1",)
    )  # fmt: skip
    assert number(result, "code") == 0, result.output
    before, after = map(int, result.files["used"].split())
    assert before > 250 * size and (before - after > 28_000 if freed else before - after < 2_000), (before, after)


# Pages that are refused stay in the swap cache, at virtual slots; a device is full of data of another group.
REFUSED_BESIDE = (
    HELD
    + """
group full; group refused; echo 0 > $CG/full/memory.zswap.max; echo 0 > $CG/refused/memory.zswap.writeback
start full full --size 40M --passes 1
echo 36M > $CG/full/memory.reclaim
start refused refused --size 24M --random 100 --passes 1
echo 20M > $CG/refused/memory.reclaim
keep refused $V/refused; keep cached $V/cached; keep meminfo /proc/meminfo
grep nr_swapcached /proc/vmstat > $RESULTS/vmstat
finish full; finish refused; settle; left
"""
)


@pytest.mark.kernel("vswap", "um", "release")
def test_swap_cache_that_no_device_has(boot_guest: Boot) -> None:
    """SwapCached leaves it out, as SwapTotal does, whatever is on devices."""
    result = boot_guest(REFUSED_BESIDE, flavour="release", mem_bytes=192 * MIB, swap="file:64M")
    assert result.files["full.code"].strip() == result.files["refused.code"].strip() == "0"
    shown = meminfo(result)
    assert shown["SwapTotal"] - shown["SwapFree"] > 30 * 1024
    pages, virtual = fields(result, "vmstat")["nr_swapcached"], number(result, "cached")
    assert virtual >= number(result, "refused") > 5_000
    assert abs(shown["SwapCached"] - 4 * (pages - virtual)) < 256 and 2 * virtual > pages, (pages, virtual, shown)
    assert nothing_is_left(result)


# The time that kernel threads have used of the CPUs, in hundredths of a second.
BESIDE = (
    HELD
    + """
threads() { awk '$2 ~ /kswapd|zswap|kworker/ { ticks += $15 } END { print ticks + 0 }' /proc/[0-9]*/stat; }
echo Y > $Z/shrinker_enabled
group hog; echo 0 > $CG/hog/memory.swap.max; echo 1G > $CG/hog/memory.zswap.max
group other
start hog hog --size 64M --text 40 --passes 1
within 20 sh -c "echo %s > $CG/hog/memory.reclaim" 2> /dev/null
keep zswap.hog $CG/hog/memory.zswap.current
echo 24M > $CG/other/memory.high
threads > $RESULTS/threads.before
start other other --size 64M --text 40 --passes 2 --rewrite 20
threads > $RESULTS/threads.filled; sleep 2; threads > $RESULTS/threads.idle
keep zswap.other $CG/other/memory.zswap.current
finish other; threads > $RESULTS/threads.end
keep in-vain /sys/kernel/debug/zswap/reject_reclaim_fail
grep zsw $CG/hog/memory.stat > $RESULTS/stat.hog; grep zsw $CG/other/memory.stat > $RESULTS/stat.other
keep swap.hog $CG/hog/memory.swap.current
finish hog; settle
group late; start late late --size 40M --text 40 --passes 1
within 20 sh -c "echo 20M > $CG/late/memory.reclaim" 2> /dev/null
keep zswap.late $CG/late/memory.zswap.current
finish late; settle; left
"""
)


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("share", ["20M", "64M"], ids=["part-of-the-pool", "all-of-it"])
def test_group_that_cannot_write_back_beside_another(boot_guest: Boot, share: str) -> None:
    """It holds on to its part of zswap, as it may: the shrinker does not try it again and again.

    The rest of the pool is for others: they store there, and it is their older data that goes to the device.
    If there is no rest, they swap to the device, until the group ends.
    """
    result = boot_guest(
        BESIDE % share,
        flavour="release", cpus=2, mem_bytes=320 * MIB, swap="file:128M", pool_percent=5, timeout=200.0,
    )  # fmt: skip
    for name in ("hog", "other", "late"):
        assert answer(result, f"{name}.json")["verified"] is True
    assert number(result, "zswap.hog") > 5 * MIB and number(result, "swap.hog") == 0
    assert fields(result, "stat.hog")["zswpwb"] == 0
    in_vain = 1000
    if share == "20M":
        other = fields(result, "stat.other")
        # Some of what is chosen is taken back or freed at that moment, more of it on slow machines.
        in_vain = other["zswpwb"] // 3
        # Of 16 MB, of which the group has 7; and three times as much as there is room for went through.
        assert number(result, "zswap.other") > 2 * MIB and other["zswpout"] > 10_000, other
        assert other["zswpwb"] > 5000, other
    assert number(result, "zswap.late") > 4 * MIB
    moments = ("before", "filled", "idle", "end")
    before, filled, idle, end = (number(result, f"threads.{moment}") for moment in moments)
    assert idle - filled < 100 and end - before < 1000, (before, filled, idle, end)
    assert number(result, "in-vain") < in_vain, (before, filled, idle, end)


# There is room in the pool: nothing is charged for what is swapped out, only for what is written back. Each time
# the group may have 16 slots more, and is asked for memory until it has them.
FEW_MORE = (
    HELD
    + """
echo Y > $Z/shrinker_enabled
fails() { cat /sys/kernel/debug/zswap/reject_reclaim_fail; }
group a; echo 64K > $CG/a/memory.swap.max
start a a --size 64M --text 40 --passes 1
before=$(fails)
for slots in 16 32 48 64 80 96 112 128; do
  echo $((slots * 4))K > $CG/a/memory.swap.max
  n=0
  while [ $n -lt 20 ] && [ $(cat $CG/a/memory.swap.current) -lt $((slots * 4096)) ]; do
    within 10 sh -c "echo 2M > $CG/a/memory.reclaim" 2> /dev/null; n=$((n+1))
  done
  within 10 sh -c "echo 1M > $CG/a/memory.reclaim" 2> /dev/null
done
echo $(($(fails) - before)) > $RESULTS/in-vain
n=0  # slots are charged when writing begins, zswpwb counts when it has ended
written() { awk '$1 == "zswpwb" { print $2 * 4096 }' $CG/a/memory.stat; }
while [ $n -lt 100 ] && [ $(written) -lt $(cat $CG/a/memory.swap.current) ]; do sleep 0.1; n=$((n+1)); done
keep swap $CG/a/memory.swap.current; keep events $CG/a/memory.swap.events
grep zsw $CG/a/memory.stat > $RESULTS/stat
finish a; settle; left
"""
)


@pytest.mark.kernel("vswap", "um", "release")
def test_writeback_up_to_the_limit_of_a_group(boot_guest: Boot) -> None:
    """A scan that takes the last slot of a group ends there. That is no event: nothing failed for the group."""
    result = boot_guest(
        FEW_MORE, flavour="release", mem_bytes=256 * MIB, swap="file:64M", pool_percent=50,
    )  # fmt: skip
    assert answer(result, "a.json")["verified"] is True
    assert number(result, "swap") == 128 * 4096 and fields(result, "stat")["zswpwb"] == 128
    events = fields(result, "events")
    assert (events["max"], events["fail"]) == (0, 0), events
    assert number(result, "in-vain") <= 2 * 8, result.files


# Two groups swap files of a tmpfs out in turn, 16 pages each time, so that all that is looked at together
# has pages of both. Then one of them may have no slots, and both are removed: the files are the parent's as soon
# as the groups are offline, some grace periods later. Nothing in user space says when that is.
REMOVED = """
written() { awk '/^zswpwb/ { print $2 }' /proc/vmstat; }
mkdir -p $CG/p/full $CG/p/free; echo +memory > $CG/p/cgroup.subtree_control
mkdir /run/files; mount -t tmpfs -o size=64M none /run/files
echo N > $Z/shrinker_enabled
n=0
while [ $n -lt 64 ]; do
  for name in full free; do
    in_group p/$name sh -c "yes $name $n | head -c 64K > /run/files/$name.$n"
    echo 64K > $CG/p/$name/memory.reclaim
  done 2> /dev/null
  n=$((n+1))
done
keep filled.full $CG/p/full/memory.zswap.current; keep filled.free $CG/p/free/memory.zswap.current
echo 0 > $CG/p/full/memory.swap.max; keep swap.full $CG/p/full/memory.swap.current
rmdir $CG/p/full $CG/p/free
echo Y > $Z/shrinker_enabled
before=$(written); n=0
while [ $n -lt 200 ] && [ $(($(written) - before)) -le 1400 ]; do
  echo 1M > $CG/p/memory.reclaim; sleep 0.05; n=$((n+1))
done 2> /dev/null
echo $(($(written) - before)) > $RESULTS/written
n=0; bad=0
while [ $n -lt 64 ]; do
  for name in full free; do
    yes $name $n | head -c 64K | cmp -s - /run/files/$name.$n || bad=$((bad+1))
  done
  n=$((n+1))
done
echo $bad > $RESULTS/bad
umount /run/files; settle; left
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_removed_group_at_its_limit_is_written_back(boot_guest: Boot) -> None:
    """The data of groups that are gone is their parent's, whose limits hold for it, and no others: nobody could
    change a limit of theirs any more."""
    result = boot_guest(REMOVED, flavour="release", mem_bytes=256 * MIB, swap="file:64M", pool_percent=50)
    assert number(result, "filled.full") > 0 and number(result, "filled.free") > 0 and number(result, "bad") == 0
    # Of 64 files of 16 pages in each group.
    assert number(result, "written") > 1400, result.files


FIRST_SLOT = """
group a
in_group a swapcheck --mode churn --size 24M --threads 2 --text 40 --seconds 3 --json > $RESULTS/a.json & a=$!
in_group a swapcheck --mode shm-memfd --size 8M --reclaim --json > $RESULTS/b.json & b=$!
( while kill -0 $a; do echo 8M > $CG/a/memory.reclaim; sleep 0.05; done ) 2> /dev/null &
n=0; while [ $n -lt 50 ] && [ "$(used)" -lt 2000 ]; do sleep 0.05; n=$((n+1)); done
grep vswap_alloc /proc/vmstat > $RESULTS/before
%s
wait $a; wait $b; wait
grep vswap_alloc /proc/vmstat > $RESULTS/after; verify > $RESULTS/verify; settle; left
"""


@pytest.mark.kernel("vswap", "um", "debug")
@pytest.mark.parametrize(
    "change",
    [
        "for i in 1 2 3 4; do echo Y > $Z/enabled; sleep 0.05; echo N > $Z/enabled; done; echo Y > $Z/enabled",
        "for m in always never auto never always never auto always; do echo $m > $V/mode; sleep 0.02; done",
    ],
    ids=["zswap", "mode"],
)
def test_first_slot_in_the_middle_of_swapping(boot_guest: Boot, change: str) -> None:
    """The first virtual slots are handed out while two CPUs swap, as soon as they have begun to.

    A static branch of User-Mode Linux is a variable and never half patched: for that see the KUnit case
    no_slot_before_all_is_ready.
    """
    result = boot_guest(FIRST_SLOT % change, zswap=False, swap="file:128M", cpus=2, pool_percent=3)
    for name in "ab":
        assert answer(result, f"{name}.json")["verified"] is True, (result.files, result.oom_kills)
    assert fields(result, "before")["vswap_alloc"] == 0 and fields(result, "after")["vswap_alloc"] > 500
    assert number(result, "verify") == 0 and nothing_is_left(result)


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize(
    "cmdline",
    [
        ("vswap=", "vswap.max_gb="),
        ("vswap", "vswap.max_gb"),
        ("vswap=ALWAYS", "vswap.max_gb=-1"),
        ("vswap=always,never", "vswap.max_gb=18446744073709551615"),
        ("vswap=" + "auto" * 200, "vswap.max_gb=0x10"),
        ("vswap=\xff\x01%n", "vswap.max_gb=1e3"),
        ("vswap=never", "vswap=auto", "vswap.max_gb=99999999999999999999", "vswap.nothing=1"),
    ],
    ids=str,
)
def test_bad_boot_parameters(boot_guest: Boot, cmdline: tuple[str, ...]) -> None:
    """They are ignored, and the machine swaps as without them."""
    result = boot_guest(
        "keep mode $V/mode; swapcheck --size 32M --pageout --random 0 --passes 1 --min-swapped 24M --json "
        "> $RESULTS/out.json; settle",
        flavour="release", extra_cmdline=cmdline, swap="none",
    )  # fmt: skip
    assert result.files["mode"].strip() == "auto"
    assert answer(result, "out.json")["verified"] is True, result.output
    assert result.end.slots_used == 0


# What the first program has is cold; the second one fills its memory, and swaps out more than the pool takes.
FULL_POOL = """
echo 100 > $Z/accept_threshold_percent
group a; group b
start cold a --size 40M --passes 1 --text 40
echo 36M > $CG/a/memory.reclaim
start hot b --size {hot} --passes 1 --text 40
grep -E '^zswpwb|^pswpout|^zswpout' /proc/vmstat > $RESULTS/vmstat
keep hit /sys/kernel/debug/zswap/pool_limit_hit
finish hot; finish cold; settle; left
"""


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
def test_threshold_of_100_percent(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """accept_threshold_percent=100, which zswap offers: a full pool makes room for new pages as on mainline.

    Otherwise what is cold stays in the pool, and what is new goes to the device.
    """
    written_back = {}
    hot, percent = "160M", 10
    if emulated_with_checkers(pytestconfig):  # there more memory is to be filled, and the pool is as large
        hot, percent = "$(available 100 81920)", 3
    for kernel in ("vswap", "mainline"):
        result = boot_guest(
            HELD + FULL_POOL.format(hot=hot),
            kernel=kernel,
            flavour="release",
            mem_bytes=128 * MIB,
            pool_percent=percent,
            swap="file:300M",
            expected=["page allocation failure"] if kernel == "mainline" else [],  # of a swap table
        )
        assert result.files["hot.code"].strip() == result.files["cold.code"].strip() == "0"
        assert number(result, "hit") > 10
        written_back[kernel] = fields(result, "vmstat")["zswpwb"]
    assert written_back["vswap"] > written_back["mainline"] > 100, written_back
