# SPDX-License-Identifier: GPL-2.0
"""Control groups: what is charged, what limits, and what stays when a group is removed."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, emulated_with_checkers, fields, number, patience

pytestmark = pytest.mark.kernel("vswap", "um", "debug")


def test_swap_max_zero_does_not_disable_zswap(boot_guest: Boot) -> None:
    """Not where memory.zswap.max is a limit; see test_promises.py for where it is not."""
    result = boot_guest("""
group a; echo 20M > $CG/a/memory.max; echo 0 > $CG/a/memory.swap.max; echo 1G > $CG/a/memory.zswap.max
in_group a swapcheck --size 40M --passes 1 --min-swapped 10M --json > $RESULTS/out.json &
while kill -0 $! 2>/dev/null; do
  cat $CG/a/memory.swap.current >> $RESULTS/swap; cat $CG/a/memory.zswap.current >> $RESULTS/zswap; sleep 0.2
done
keep events $CG/a/memory.swap.events
""")
    assert answer(result, "out.json")["verified"] is True
    assert set(result.files["swap"].split()) == {"0"}
    assert max(map(int, result.files["zswap"].split())) > MIB
    assert fields(result, "events") == {"high": 0, "max": 0, "fail": 0}


def test_zswap_max_keeps_pages_in_memory(boot_guest: Boot) -> None:
    """The group may compress 2 MB; more is refused, stays in memory and is intact."""
    result = boot_guest("""
group a; echo 2M > $CG/a/memory.zswap.max
in_group a swapcheck --size 40M --passes 2 --rewrite 20 --reclaim --json > $RESULTS/out.json &
while kill -0 $! 2>/dev/null; do cat $CG/a/memory.zswap.current >> $RESULTS/zswap; sleep 0.05; done
""")
    assert answer(result, "out.json")["verified"] is True
    held = max(map(int, result.files["zswap"].split()))
    assert MIB < held < 4 * MIB  # the limit is checked before each page, not while it is compressed


# Eight times: half of the pages fill zswap up to the limit and come back. What the limit is compared with
# may be as old as the last flush of the group's statistics. The interpreter's memory is not the group's.
TURNS = """
cat > /run/turns.py <<'EOF'
import ctypes, json, mmap, os, time
PAGES, GROUP = 16, "/sys/fs/cgroup/a/"
data = [os.urandom(2600) + bytes(1496) for page in range(PAGES)]
pagemap = open("/proc/self/pagemap", "rb", buffering=0)
memory = mmap.mmap(-1, PAGES << 12, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory)) >> 12
open(GROUP + "cgroup.procs", "w").write(str(os.getpid()))
os.sched_setaffinity(0, {0})
gone = []
for turn in range(8):
    time.sleep(0.02)  # they are flushed once in a tick
    for page, content in enumerate(data):
        memory[page << 12] = content[0]  # a read would leave the compressed copy
        assert turn == 0 or memory[page << 12:page + 1 << 12] == content
        memory[page << 12:page + 1 << 12] = content
    try:
        %s
    except BlockingIOError:
        pass
    words = os.pread(pagemap.fileno(), 8 * PAGES, 8 * start)
    gone.append(sum(words[at] >> 6 & 1 for at in range(7, len(words), 8)))  # bit 62: swapped
json.dump(gone, open(os.environ["RESULTS"] + "/gone", "w"))
EOF
group a; echo 16K > $CG/a/memory.zswap.max; python3 /run/turns.py; echo $? > $RESULTS/code
"""


@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param('open(GROUP + "memory.reclaim", "w").write("64K")', id="reclaim"),
        pytest.param("memory.madvise(21)", id="pageout"),
    ],
)
def test_zswap_max_is_compared_with_what_is_there_now(boot_guest: Boot, asked: str) -> None:
    """With many processors, the statistics of a group may lack hundreds of pages."""
    result = boot_guest(TURNS % asked, arch="x86_64", flavour="release", cpus=8)
    assert number(result, "code") == 0, result.output
    assert min(answer(result, "gone")) >= 6, answer(result, "gone")


AT_THE_LIMIT = """
group a; echo 8M > $CG/a/memory.swap.max; echo 0 > $CG/a/memory.zswap.max
in_group a swapcheck --size 40M {more} --pageout --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
awk '/^VmSwap/ {{ print $2 }}' /proc/$(tail -n 1 $CG/a/cgroup.procs)/status > $RESULTS/unmapped
keep charged $CG/a/memory.swap.current; touch /run/go; wait $pid
"""


def unmapped_at_the_limit(boot_guest: Boot, more: str = "", **fields: Any) -> None:
    """madvise() names more than the group may have on the device; what it may not have stays mapped."""
    result = boot_guest(AT_THE_LIMIT.format(more=more), mode="always", swap="file:128M", **fields)
    assert answer(result, "out.json")["verified"] is True
    charged, unmapped = number(result, "charged"), number(result, "unmapped") * 1024
    assert 7 * MIB < charged <= 8 * MIB
    # The group's limit is looked at again after 32 pages.
    assert charged <= unmapped <= charged + MIB // 4


@pytest.mark.parametrize("zswap", [False, True], ids=["zswap-off", "zswap-not-for-the-group"])
def test_what_the_limit_keeps_in_memory_is_not_unmapped(boot_guest: Boot, zswap: bool) -> None:
    unmapped_at_the_limit(boot_guest, zswap=zswap)


@pytest.mark.kernel("vswap", "x86_64", "release")
def test_what_the_limit_keeps_in_memory_of_large_folios(boot_guest: Boot) -> None:
    """The last one that does not fit as a whole is split, and its pages are asked for one by one."""
    unmapped_at_the_limit(
        boot_guest, "--hugepage", zswap=False, arch="x86_64", flavour="release", mem_bytes=320 * MIB
    )


def test_group_removed_while_its_pages_are_swapped(boot_guest: Boot) -> None:
    """They are the parent's then, read back intact, and nothing of the group is left."""
    result = boot_guest("""
group p; echo +memory > $CG/p/cgroup.subtree_control; mkdir $CG/p/c
before=$(grep ^memory /proc/cgroups | cut -f3)
( echo 0 > $CG/p/c/cgroup.procs
  exec swapcheck --mode shm-tmpfs --size 24M --reclaim --ready-file /run/ready --wait-file /run/go \
    --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
keep used $V/slots_used
for p in $(cat $CG/p/c/cgroup.procs); do echo $p > $CG/cgroup.procs; done
rmdir $CG/p/c; echo $? > $RESULTS/rmdir
verify > $RESULTS/verify
touch /run/go; wait $pid; echo $? > $RESULTS/code
rmdir $CG/p; settle; i=0
while [ $i -lt 50 ] && [ $(grep ^memory /proc/cgroups | cut -f3) -gt $before ]; do sleep 0.1; i=$((i+1)); done
echo $before $(grep ^memory /proc/cgroups | cut -f3) > $RESULTS/groups
""")
    assert number(result, "rmdir") == 0 and number(result, "verify") == 0
    assert number(result, "used") > 1000
    assert answer(result, "out.json")["verified"] is True and number(result, "code") == 0
    assert result.end.slots_used == 0
    before, after = map(int, result.files["groups"].split())
    assert after <= before


# The pages are written in p/c, which goes; they are read, but not written, in q, and swapped out from there.
OWNER_GOES = """
cat > /run/owner.py <<'EOF'
import os, sys, time
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, content, enter, fill, holds, page_out, stay_in_memory, swappable
PAGES, CG = 1024, os.environ["CG"]
def charged(group): return int(open(f"{{CG}}/{{group}}/memory.{what}.current").read())
stay_in_memory()  # p/c has no other page of the program that could stay swapped out
memory = swappable(PAGES)
enter("p/c")
fill(memory, range(PAGES))
page_out(memory, PAGES * PAGE)
for _ in range(20):  # what was written leaves the swap cache
    try:
        open(f"{{CG}}/p/c/memory.reclaim", "w").write("64M swappiness=max")
    except OSError:
        break
assert charged("p/c") > 16 * PAGES
enter("q")
{shared}
os.rmdir(f"{{CG}}/p/c")
for page in range(PAGES):
    assert memory[page * PAGE:page * PAGE + 8] == content(page)[:8]
page_out(memory, PAGES * PAGE)
# Statistics may lag behind by 64 pages a CPU, for two seconds.
for _ in range(50):
    if charged("p") == 0:
        break
    time.sleep(0.1)
print(charged("p"), charged("q"))
assert holds(memory, range(PAGES)){end}
EOF
group p; echo +memory > $CG/p/cgroup.subtree_control; mkdir $CG/p/c; group q
CG=$CG python3 /run/owner.py > $RESULTS/charged; echo $? > $RESULTS/code
verify > $RESULTS/verify
"""


# Another page table has the slots, which are not freed then. It is there when all has been read.
SHARED = """
stop, go = os.pipe()
child = os.fork()
if not child:
    os.close(go); os.read(stop, 1)
    os._exit(not holds(memory, range(PAGES)))
"""


@pytest.mark.parametrize("shared", ["", SHARED], ids=["alone", "shared"])
@pytest.mark.parametrize("what", ["zswap", "swap"])
def test_pages_of_a_group_that_is_gone_are_charged_to_who_has_them(
    boot_guest: Boot, what: str, shared: str
) -> None:
    """Its slots are not kept for them, or are theirs: what backs those would be charged to its parent."""
    end = "\nos.close(go); assert os.waitpid(child, 0)[1] == 0" if shared else ""
    result = boot_guest(
        OWNER_GOES.format(here=Path(__file__).parent, what=what, shared=shared, end=end),
        mode="auto" if what == "zswap" else "always", zswap=what == "zswap", swap="file:64M",
    )  # fmt: skip
    assert number(result, "code") == 0, result.output
    assert number(result, "verify") == 0
    parent, group = map(int, result.files["charged"].split())
    assert parent == 0 and group > 16 * 1024


# Nothing takes the pages of p/c, which keep their slots; it goes, and they are read, but not written, in q.
REFUSED_THEN_GONE = """
cat > /run/refused.py <<'EOF'
import mmap, os, sys, time
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, enter, page_out, stay_in_memory, swappable
PAGES, CG = 512, os.environ["CG"]
def refused(): return int(open("/sys/kernel/mm/vswap/refused").read())
def gone(): return "nr_dying_subsys_memory 0" in open(CG + "/cgroup.stat").read().split("\\n")
stay_in_memory()
memory = swappable(PAGES)
enter("p/c")
data = os.urandom(PAGES * PAGE)
memory[:] = data
page_out(memory, PAGES * PAGE)
enter("q")
before = refused()
os.rmdir(CG + "/p/c")
# It takes a while. Pages that are read before belong to p/c: they are freed.
for early in range(PAGES):
    left = refused()
    assert memory[early * PAGE] == data[early * PAGE]
    if refused() < left:
        break
    memory.madvise(mmap.MADV_DONTNEED, early * PAGE, PAGE)
    time.sleep(0.1)
assert memory[early * PAGE:] == data[early * PAGE:] and PAGES - early > 100
for _ in range(300):
    if gone():
        break
    time.sleep(0.1)
print(before, refused(), int(gone()))
EOF
group p; echo +memory > $CG/p/cgroup.subtree_control; mkdir $CG/p/c; group q
CG=$CG python3 /run/refused.py > $RESULTS/refused; echo $? > $RESULTS/code
verify > $RESULTS/verify
"""


def test_refused_pages_do_not_keep_a_group_that_is_gone(boot_guest: Boot) -> None:
    """What is known of them was the old group's: it would stay for as long as they are only read."""
    result = boot_guest(REFUSED_THEN_GONE.format(here=Path(__file__).parent), mode="auto")
    assert number(result, "code") == 0, result.output
    assert number(result, "verify") == 0
    before, after, gone = map(int, result.files["refused"].split())
    assert before > 400 and after == 0 and gone


# Groups go while others share what they had swapped out: it is read, written, reclaimed and taken off the device.
SHARED_RACE = """
cat > /run/race.py <<'EOF'
import os, sys
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, anonymous, content, enter, fill, holds, page_out
PAGES, CG = 384, os.environ["CG"]
bad = 0
for turn in range({turns}):
    os.mkdir(f"{{CG}}/p/c{{turn}}")
    memory = anonymous(PAGES)
    enter(f"p/c{{turn}}")
    # Some are zero-filled.
    fill(memory, [page for page in range(PAGES) if page % 8])
    page_out(memory, PAGES * PAGE)
    enter("q")
    children = []
    for child in range(3):
        pid = os.fork()
        if not pid:
            good = True
            for number in range(PAGES):
                page = (number * 5 + child * 100) % PAGES
                expected = content(page) if page % 8 else bytes(PAGE)
                good &= memory[page * PAGE:(page + 1) * PAGE] == expected
                if page % 3 == child:
                    memory[page * PAGE:page * PAGE + 8] = b"changed!"
                    good &= memory[page * PAGE:page * PAGE + 8] == b"changed!"
                    memory[page * PAGE:page * PAGE + 8] = expected[:8]
            page_out(memory, PAGES * PAGE)
            good &= holds(memory, [page for page in range(PAGES) if page % 8])
            os._exit(not good)
        children.append(pid)
    os.rmdir(f"{{CG}}/p/c{{turn}}")
    bad += sum(os.waitpid(pid, 0)[1] != 0 for pid in children)
    bad += not holds(memory, [page for page in range(PAGES) if page % 8])
    memory.close()
print(bad, turn + 1)
EOF
group p; echo +memory > $CG/p/cgroup.subtree_control; group q
( while :; do echo 1M > $CG/q/memory.reclaim; done ) 2> /dev/null & reclaim=$!
( dev=$(device)
  while :; do swapoff $dev && echo off >> $RESULTS/offs; swapon $dev; sleep 0.3; done ) 2> /dev/null & remove=$!
CG=$CG python3 /run/race.py > $RESULTS/out; echo $? > $RESULTS/code
kill $reclaim $remove; wait $reclaim $remove
verify > $RESULTS/verify; grep vswap_evacuate /proc/vmstat > $RESULTS/vmstat; settle
cat $CG/p/memory.zswap.current > $RESULTS/left
"""


@pytest.mark.parametrize("zswap", [True, False], ids=["zswap", "device"])
def test_shared_pages_of_groups_that_go(boot_guest: Boot, pytestconfig: pytest.Config, zswap: bool) -> None:
    turns = 4 if emulated_with_checkers(pytestconfig) else 20
    result = boot_guest(
        SHARED_RACE.format(here=Path(__file__).parent, turns=turns),
        mode="always", zswap=zswap, swap="file:64M", cpus=2, timeout=patience(600, pytestconfig),
    )  # fmt: skip
    assert number(result, "code") == 0, result.output
    assert result.files["out"].split() == ["0", str(turns)]
    assert len(result.files["offs"].split()) > 1, "the device was not removed"
    assert zswap or fields(result, "vmstat")["vswap_evacuate"] > 100
    assert number(result, "verify") == 0 and result.end.slots_used == 0
    assert number(result, "left") == 0


# own GROUP: /run/owner.py waits until end_owner, with its pages, which GROUP has, on the device alone.
OWNER = """
own() {{
  echo always > $V/mode; mkfifo /run/end
  CG=$CG python3 /run/owner.py < /run/end & pid=$!
  exec 9> /run/end
  while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.2; done
  n=0
  while [ $n -lt 30 ] && [ $(cat $CG/$1/memory.current) -gt 1000000 ]; do
    echo 8M > $CG/$1/memory.reclaim; sleep 0.1; n=$((n+1))
  done 2> /dev/null
}}
end_owner() {{ exec 9>&-; wait $pid; echo $? > $RESULTS/code; verify > $RESULTS/verify; }}
"""

# The pages are written in p/c, and are on the device when that goes. Their process is in q, and waits.
LEFT_ON_DEVICE = (
    OWNER
    + """
cat > /run/owner.py <<'EOF'
import os, sys
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, anonymous, enter, fill, holds, page_out
PAGES, CG = 1024, os.environ["CG"]
memory = anonymous(PAGES)
enter("p/c")
fill(memory, range(PAGES))
page_out(memory, PAGES * PAGE)
enter("q")
os.rmdir(f"{{CG}}/p/c")
open("/run/ready", "w").close(); sys.stdin.read()
assert holds(memory, range(PAGES))
EOF
group p; echo +memory > $CG/p/cgroup.subtree_control; mkdir $CG/p/c; group q; group s
own p
echo $(cat $CG/p/memory.current) $(cat $V/physical) > $RESULTS/before
in_group s swapoff $(device); echo $? > $RESULTS/swapoff
sleep 0.3; echo $(cat $CG/p/memory.current) $(cat $CG/s/memory.current) > $RESULTS/after
end_owner
"""
)


def test_swapoff_does_not_pay_for_pages_of_a_group_that_is_gone(
    boot_guest: Boot, pytestconfig: pytest.Config
) -> None:
    """They are charged to its parent, as the rest of what it left, not to who runs swapoff."""
    result = boot_guest(
        LEFT_ON_DEVICE.format(here=Path(__file__).parent), swap="file:64M", zswap=False
    )  # fmt: skip
    zeroes = {name: number(result, name) for name in ("code", "swapoff", "verify")}
    assert not any(zeroes.values()), (zeroes, result.output)
    before, physical = map(int, result.files["before"].split())
    parent, caller = map(int, result.files["after"].split())
    assert physical >= 1000 and before < MIB
    # The caller has its own pages, tables and what each CPU is charged ahead, which is more on x86-64; the
    # pages would be 4 MB.
    most = 2 * MIB if pytestconfig.getoption("--on") else MIB
    assert parent >= 1000 * 4096 and caller < most, result.files["after"]


# Every second page of a group is on the device, so that each is read by itself, and it may not have many back.
LIMIT_AT_SWAPOFF = (
    OWNER
    + """
cat > /run/owner.py <<'EOF'
import mmap, os, sys
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, anonymous, enter, fill, page_out
PAGES = 1024
memory = anonymous(PAGES)
enter("g")
fill(memory, range(PAGES))
page_out(memory, PAGES * PAGE)
for page in range(0, PAGES, 2):
    memory.madvise(mmap.MADV_DONTNEED, page * PAGE, PAGE)
open("/run/ready", "w").close(); sys.stdin.read()
EOF
T=/sys/kernel/tracing; mountpoint -q $T || mount -t tracefs tracefs $T
group g; own g
cat $V/physical > $RESULTS/before
echo 0 > $CG/g/memory.swap.max; echo $(($(cat $CG/g/memory.current) + 300000)) > $CG/g/memory.max
echo 1 > $T/events/block/block_bio_queue/enable; echo 1 > $T/events/vmscan/mm_vmscan_memcg_reclaim_begin/enable
swapoff $(device); echo $? > $RESULTS/swapoff
grep swapoff- $T/trace > $RESULTS/trace
end_owner
"""
)


def test_reads_are_submitted_before_a_process_is_killed(boot_guest: Boot) -> None:
    """swapoff holds the locks of pages that are to be read: what is killed may wait for one of them."""
    result = boot_guest(LIMIT_AT_SWAPOFF.format(here=Path(__file__).parent), swap="file:64M", zswap=False)
    # Out of memory, if nobody is left to kill while what was killed still frees its pages.
    assert number(result, "swapoff") in (0, 2) and number(result, "verify") == 0, result.output
    assert number(result, "before") >= 500 and number(result, "code") == 128 + 9
    # What swapoff did, in order: it read, it reclaimed so that it might fail, or so that a process is killed.
    steps = [
        "read" if "block_bio_queue" in line else "may fail" if "RETRY_MAYFAIL" in line else "kills"
        for line in result.files["trace"].splitlines()
    ]
    last = steps.index("kills")
    assert steps[last - 1] == "read" and "may fail" in steps[:last], steps


def test_v1_memsw_stays_balanced(boot_guest: Boot) -> None:
    """Each swapped page is charged once, and nothing is charged when all is freed."""
    result = boot_guest(
        """
M=/sys/fs/cgroup/memory; [ -d $M ] || M=/sys/fs/cgroup
mkdir $M/a; echo 20M > $M/a/memory.limit_in_bytes; echo 60M > $M/a/memory.memsw.limit_in_bytes
( echo 0 > $M/a/cgroup.procs
  exec swapcheck --size 40M --ready-file /run/ready --wait-file /run/go --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
keep memory $M/a/memory.usage_in_bytes; keep memsw $M/a/memory.memsw.usage_in_bytes
keep root.memory $M/memory.usage_in_bytes; keep root.memsw $M/memory.memsw.usage_in_bytes
verify > $RESULTS/verify
touch /run/go; wait $pid; settle
echo 0 > $M/a/memory.force_empty; sleep 1
keep left $M/a/memory.memsw.usage_in_bytes
rmdir $M/a; echo $? > $RESULTS/rmdir
""",
        cgroup=1,
    )
    assert answer(result, "out.json")["verified"] is True and number(result, "verify") == 0
    assert number(result, "memory") <= 20 * MIB
    assert 38 * MIB < number(result, "memsw") < 46 * MIB
    # The root's are sums over the machine; without a device, all that is swapped out is in zswap.
    assert 18 * MIB < number(result, "root.memsw") - number(result, "root.memory") < 46 * MIB, result.files
    assert number(result, "left") < MIB and number(result, "rmdir") == 0
