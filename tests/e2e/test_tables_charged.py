# SPDX-License-Identifier: GPL-2.0
"""The tables of virtual slots are charged to the group whose pages are in them.

A page of zeroes costs nothing but its slot: neither memory.swap nor memory.zswap limits how many a
group may have, so memory.max has to.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.common import HELD, MIB, Boot, number
from tests.e2e.common import fields as numbers
from vswaplab.guest import GuestResult

SLACK = MIB  # reclaim may go over the limit by what it needs to get below it

# A line for each look at the group: memory.current, what is charged for tables, all metadata, slots in use.
WRITE_ZEROES = """
group a; echo {limit}M > $CG/a/memory.max
mkdir /run/t; mount -t tmpfs -o size=0{options} t /run/t
T=/sys/kernel/mm/transparent_hugepage/defrag; [ ! -e $T ] || echo always > $T  # reclaim to charge for a huge page
tables() {{ awk '/^vswap_tables / {{ print $2 }}' $CG/$1/memory.stat; }}
keep before $V/metadata_bytes
in_group a {writer} 2> $RESULTS/stderr & pid=$!
while kill -0 $pid 2>/dev/null; do
  echo $(cat $CG/a/memory.current) $(tables a) $(cat $V/metadata_bytes $V/slots_used) >> $RESULTS/samples
  sleep 0.1
done
wait $pid; echo $? > $RESULTS/code
keep events $CG/a/memory.events
rm /run/t/*; settle; drop
i=0; while [ $i -lt 50 ] && [ "$(tables a)" != 0 ]; do sleep 0.1; i=$((i+1)); done
keep stat $CG/a/memory.stat; keep current $CG/a/memory.current
"""


@dataclass
class Sample:
    """One look at the group; all in bytes but the slots."""

    current: int
    tables: int
    metadata: int
    slots: int


def samples(result: GuestResult) -> list[Sample]:
    """What was seen while the group wrote. A kernel that does not show what it charges is told so."""
    lines = [list(map(int, line.split())) for line in result.files["samples"].splitlines()]
    assert all(len(line) == 4 for line in lines), "memory.stat has no line vswap_tables"
    return [Sample(*line) for line in lines]


def reached_its_limit(result: GuestResult, limit: int, part: int) -> None:
    """The group was killed at its limit, not beyond it, and nothing is charged to it any longer.

    One in ``part`` bytes of the limit was tables; the rest is the writer, its data and the file's tree.
    """
    assert result.files["code"].strip() == "137" and numbers(result, "events")["oom_kill"] >= 1, (
        f"{result.files['code'].strip()}: the writer was not killed; {result.files['samples'][-200:]}"
    )
    seen = samples(result)
    assert max(sample.current for sample in seen) <= limit + SLACK
    assert max(sample.metadata for sample in seen) <= limit + SLACK + number(result, "before")
    # What is charged is what there is: all other metadata is the machine's, and does not grow with the slots.
    largest = max(seen, key=lambda sample: sample.slots)
    assert largest.tables >= limit // part and largest.tables >= 17 * largest.slots
    assert largest.metadata - largest.tables <= number(result, "before") + MIB // 2
    early = next(sample for sample in seen if sample.slots > 1000)
    assert early.tables < largest.tables

    assert numbers(result, "stat")["vswap_tables"] == 0
    assert number(result, "current") < MIB
    assert result.end.slots_used == 0


@pytest.mark.kernel("vswap", "um", "release")
def test_zeroes_in_tmpfs_reach_memory_max(boot_guest: Boot) -> None:
    """2 GB of them need 9 MB of tables and 5 MB of the file's own tree; the group may have 8 MB."""
    writer = "dd if=/dev/zero of=/run/t/zeroes bs=64K count=32000"
    result = boot_guest(WRITE_ZEROES.format(limit=8, options="", writer=writer), flavour="release")
    reached_its_limit(result, 8 * MIB, 3)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_huge_zeroes_in_tmpfs_reach_memory_max(boot_guest: Boot) -> None:
    """One byte is written in each 2 MB: 9 KB of tables for a byte of data, and hardly a tree.

    The group, which may have 16 MB, would need 27 for the tables of 6 GB.
    """
    program = (  # by a fault: write(2) takes folios of the size of what is written
        "import mmap; f = open('/run/t/zeroes', 'w+b', 0); f.truncate(3000 << 21); m = mmap.mmap(f.fileno(), 0);"
        "[m.__setitem__(n << 21, 1) for n in range(3000)]"
    )
    result = boot_guest(
        WRITE_ZEROES.format(limit=16, options=",huge=always", writer=f'python3 -c "{program}"'),
        arch="x86_64",
        flavour="release",
    )
    reached_its_limit(result, 16 * MIB, 6)  # Python and folios of 2 MB


@pytest.mark.kernel("vswap", "um", "debug")
def test_a_removed_group_leaves_its_tables_to_its_parent(boot_guest: Boot) -> None:
    """Its file stays, swapped out; the parent pays for it until the file goes."""
    result = boot_guest("""
group p; echo +memory > $CG/p/cgroup.subtree_control; mkdir $CG/p/c
mkdir /run/t; mount -t tmpfs -o size=0 t /run/t
in_group p/c dd if=/dev/zero of=/run/t/zeroes bs=1M count=40 2>/dev/null
echo 40M > $CG/p/c/memory.reclaim
sleep 2.5  # with several CPUs, small changes reach the parent's statistics every two seconds
keep child $CG/p/c/memory.stat; keep parent $CG/p/memory.stat; keep used $V/slots_used
rmdir $CG/p/c; echo $? > $RESULTS/rmdir; sleep 2.5
keep removed $CG/p/memory.stat; verify > $RESULTS/verify
rm /run/t/zeroes; settle
i=0; while [ $i -lt 50 ] && ! grep -q '^vswap_tables 0$' $CG/p/memory.stat; do sleep 0.1; i=$((i+1)); done
keep freed $CG/p/memory.stat; keep current $CG/p/memory.current
""")
    used = number(result, "used")
    assert used > 9000 and number(result, "rmdir") == 0 and number(result, "verify") == 0
    assert "vswap_tables" in numbers(result, "child"), "memory.stat has no line vswap_tables"
    tables = {name: numbers(result, name)["vswap_tables"] for name in ("child", "parent", "removed", "freed")}
    assert 17 * used <= tables["child"] <= 22 * used
    assert tables["parent"] == tables["removed"] == tables["child"]
    assert tables["freed"] == 0 and number(result, "current") < MIB
    assert result.end.slots_used == 0


@pytest.mark.kernel("vswap", "um", "debug")
def test_tables_of_ordinary_data_are_charged(boot_guest: Boot) -> None:
    """Anonymous pages in zswap: their tables are kernel memory of the group until they are freed."""
    result = boot_guest("""
group a
( echo 0 > $CG/a/cgroup.procs; exec swapcheck --size 24M --passes 1 --ready-file /run/ready \\
  --wait-file /run/go --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
keep resident $CG/a/memory.stat
echo 20M > $CG/a/memory.reclaim
keep used $V/slots_used; keep swapped $CG/a/memory.stat; keep root $CG/memory.stat
touch /run/go; wait $pid; settle
i=0; while [ $i -lt 50 ] && ! grep -q '^vswap_tables 0$' $CG/a/memory.stat; do sleep 0.1; i=$((i+1)); done
keep freed $CG/a/memory.stat
""")
    assert "vswap_tables" in numbers(result, "resident"), "memory.stat has no line vswap_tables"
    resident, swapped, freed = (numbers(result, name) for name in ("resident", "swapped", "freed"))
    used = number(result, "used")
    assert resident["vswap_tables"] == 0 and used > 4000
    assert 17 * used <= swapped["vswap_tables"] <= swapped["kernel"]
    assert numbers(result, "root")["vswap_tables"] >= swapped["vswap_tables"]
    assert freed["vswap_tables"] == 0


# In turn, a page of b goes out and stays out, and 8 pages of a do, which come back in the next turn. So most
# slots are allocated for a, and most of those that are in use in the end are b's.
COMES_BACK = """
cat > /run/turns.py <<'EOF'
import os, sys
sys.path.insert(0, "{here}")
from swapped_pages import MADV_PAGEOUT, PAGE, anonymous, enter, fill, holds
STAY, BACK = 4096, 8
go, gone = os.pipe(), os.pipe()
os.sched_setaffinity(0, {{0}})  # madvise() takes no page that waits in another CPU's batch for the LRU lists
if not os.fork():
    enter("a"); os.close(go[1])
    memory = anonymous(BACK)
    while os.read(go[0], 1):
        fill(memory, range(BACK))
        memory.madvise(MADV_PAGEOUT)
        os.write(gone[1], b"x")
    os._exit(not holds(memory, range(BACK)))
enter("b")
memory = anonymous(STAY)
for page in range(STAY):
    fill(memory, [page]); memory.madvise(MADV_PAGEOUT, page * PAGE, PAGE)
    os.write(go[1], b"x"); os.read(gone[0], 1)
open("/run/ready", "w").close(); sys.stdin.read()
os.close(go[1])
assert holds(memory, range(STAY))
assert os.wait()[1] == 0
EOF
group a; group b; mkfifo /run/end
CG=$CG python3 /run/turns.py < /run/end & pid=$!
exec 9> /run/end
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.2; done
sleep 2.5; keep used $V/slots_used; keep a $CG/a/memory.stat; keep b $CG/b/memory.stat; verify > $RESULTS/verify
exec 9>&-; wait $pid; echo $? > $RESULTS/code
settle; keep freed $CG/b/memory.stat
"""


@pytest.mark.kernel("vswap", "um", "debug")
def test_who_comes_back_does_not_pay_for_who_stays(boot_guest: Boot) -> None:
    """Tables are charged to those that have the slots, not to those whose pages happen to begin the clusters."""
    result = boot_guest(COMES_BACK.format(here=Path(__file__).parent))
    assert number(result, "code") == 0 and number(result, "verify") == 0, result.output
    cluster, used = 512 * 18, number(result, "used")
    tables = {name: numbers(result, name)["vswap_tables"] for name in ("a", "b", "freed")}
    assert 4096 <= used <= 4096 + 500
    assert tables["a"] <= 2 * cluster and tables["b"] >= 17 * used - 2 * cluster, tables
    assert tables["freed"] == 0


# Groups that are removed are gone: nothing has kept a reference on one's id.
GONE = """
gone() {
  for name in "$@"; do rmdir $CG/$name; done
  i=0
  until grep -q '^nr_dying_subsys_memory 0$' $CG/cgroup.stat || [ $i -gt 100 ]; do
    echo 3 > /proc/sys/vm/drop_caches; sleep 0.1; i=$((i+1))
  done
  keep left $CG/cgroup.stat
}
"""


def none_is_left(result: GuestResult) -> bool:
    """Whether all groups that ``gone`` removed are."""
    left = numbers(result, "left")
    return left["nr_descendants"] == 0 and left["nr_dying_subsys_memory"] == 0


# Slots of several groups next to each other: those of a and b go at once, those of c stay for now. Clusters are
# begun for a, whichever end is swapped out first.
NEIGHBOURS = """
cat > /run/neighbours.py <<'EOF'
import mmap, os, sys
sys.path.insert(0, "{here}")
from swapped_pages import MADV_PAGEOUT, PAGE, anonymous, enter, fill, holds
VERIFY = "/sys/kernel/debug/vswap/verify"
def violations(): return int(open(VERIFY).read()) if os.path.exists(VERIFY) else 0  # a release kernel has none
PARTS = [("a", 0, 20), ("b", 20, 220), ("c", 220, 680), ("b", 680, 880), ("a", 880, 900)]
memory = anonymous(900)
found = 0
for turn in range(12):
    for group, first, end in PARTS:
        enter(group)
        fill(memory, range(first, end), turn)
    memory.madvise(MADV_PAGEOUT)
    for first in 0, 680: memory.madvise(mmap.MADV_DONTNEED, first * PAGE, 220 * PAGE)
    found += violations()
    assert holds(memory, range(220, 680), turn)
    memory.madvise(mmap.MADV_DONTNEED)
print(found)
EOF
for name in a b c; do group $name; done
CG=$CG python3 /run/neighbours.py > $RESULTS/violations; echo $? > $RESULTS/code
grep vswap_alloc /proc/vmstat > $RESULTS/slots; settle
for name in a b c; do keep $name $CG/$name/memory.stat; done
gone a b c
"""


@pytest.mark.kernel("vswap", "um", "debug")
def test_slots_of_several_groups_are_freed_at_once(boot_guest: Boot) -> None:
    """Who pays is decided when all of them are gone, by the slots that are left."""
    result = boot_guest(GONE + NEIGHBOURS.format(here=Path(__file__).parent))
    assert number(result, "code") == 0, result.output
    assert number(result, "violations") == 0 and numbers(result, "slots")["vswap_alloc"] > 12 * 850
    assert all(numbers(result, name)["vswap_tables"] == 0 for name in "abc")
    assert none_is_left(result), result.files["left"]


# A cluster has a few slots of p, in turn with 496 of n, which has many clusters and frees them. Then q comes,
# whose pages take the free slots. n and p are groups of c; q is not.
LEFT_BEHIND = """
cat > /run/left.py <<'EOF'
import os, sys
sys.path.insert(0, "{here}")
from swapped_pages import MADV_PAGEOUT, PAGE, anonymous, enter, fill, holds
TURNS, MANY, FEW, LATE = 120, 496, 2, 200
def tables(group):
    with open(f"{{os.environ['CG']}}/{{group}}/memory.stat") as stat:
        return dict(line.split() for line in stat)["vswap_tables"]
def look(name):
    with open(f"{{os.environ['RESULTS']}}/{{name}}", "w") as file:
        for group in "c", "c/n", "c/p", "q": print(group.replace("/", "_"), tables(group), file=file)
def part(turn, size): return range(turn * size, (turn + 1) * size)
def out(memory, pages): memory.madvise(MADV_PAGEOUT, pages.start * PAGE, len(pages) * PAGE)
os.sched_setaffinity(0, [0])
many, few, late = (anonymous(TURNS * size) for size in (MANY, FEW, LATE))
for turn in range(TURNS):
    enter("c/n"); pages = part(turn, MANY)
    for page in pages: many[page * PAGE] = 0
    out(many, pages)
    enter("c/p"); pages = part(turn, FEW)
    fill(few, pages); out(few, pages)
enter("q"); look("before")
many.close(); look("after")
for turn in range(TURNS):
    pages = part(turn, LATE)
    fill(late, pages); out(late, pages)
look("late")
assert holds(few, range(TURNS * FEW)) and holds(late, range(TURNS * LATE))
EOF
group c; echo +memory > $CG/c/cgroup.subtree_control; mkdir $CG/c/n $CG/c/p; group q
echo 1 > /proc/sys/vm/overcommit_memory
CG=$CG RESULTS=$RESULTS python3 /run/left.py; echo $? > $RESULTS/code
verify > $RESULTS/verify
settle; keep freed $CG/c/memory.stat; keep q_freed $CG/q/memory.stat
"""


@pytest.mark.kernel("vswap", "um", "debug")
def test_a_neighbour_does_not_leave_its_tables_to_a_small_group(boot_guest: Boot) -> None:
    """What is left of them is charged to the group that has both, and to another group when that one uses them."""
    result = boot_guest(LEFT_BEHIND.format(here=Path(__file__).parent), cpus=1)
    assert number(result, "code") == 0 and number(result, "verify") == 0, result.output
    cluster = 512 * 18
    before, after, late = (numbers(result, name) for name in ("before", "after", "late"))
    assert before["c_n"] >= 110 * cluster and before["c_p"] <= 5 * cluster, before
    # 240 slots, of 144 bytes on average: 4 clusters, by chance. All that is left are 40 or more, so their group
    # has to pay: otherwise nothing limits what its groups take.
    assert after["c"] >= 40 * cluster and after["c_n"] <= 5 * cluster, (before, after)
    assert after["c_p"] <= 15 * cluster, (before, after)
    assert late["q"] >= 17 * 120 * 200 - 15 * cluster and late["c_p"] <= 15 * cluster, (after, late)
    assert numbers(result, "freed")["vswap_tables"] == numbers(result, "q_freed")["vswap_tables"] == 0


# Each of three groups fills what the others leave, and leaves most of it: the payer of a cluster changes to a
# group that has both, and back, while the other CPU does the same.
TAKE_AND_LEAVE = """
cat > /run/take.py <<'EOF'
import mmap, random, sys, time
sys.path.insert(0, "{here}")
from swapped_pages import MADV_PAGEOUT, PAGE, anonymous, enter, fill, holds
group, pages, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
enter(group)
memory = anonymous(pages)
rng, end, checked, turn = random.Random(seed), time.monotonic() + 12, 0, 0
while time.monotonic() < end or turn < 6:  # a slow machine needs more time for as much
    fill(memory, range(pages), turn)
    memory.madvise(MADV_PAGEOUT)
    some = rng.sample(range(pages // 32), 3)
    for part in range(pages // 32):  # all but 3 runs of 32 pages go without being read
        if part not in some: memory.madvise(mmap.MADV_DONTNEED, part * 32 * PAGE, 32 * PAGE)
    time.sleep(rng.random() / 50)
    for part in some:
        assert holds(memory, range(part * 32, part * 32 + 32), turn)
        checked += 32
    turn += 1
print(checked)
EOF
group c; echo +memory > $CG/c/cgroup.subtree_control; mkdir $CG/c/n $CG/c/p; group q
i=0; pids=
for group in c/n c/p q q c/n c/p; do
  i=$((i+1)); CG=$CG python3 /run/take.py $group $((i * 320)) $i > $RESULTS/checked$i & pids="$pids $!"
done
code=0; for pid in $pids; do wait $pid || code=1; done; echo $code > $RESULTS/code
verify > $RESULTS/verify; settle; keep c $CG/c/memory.stat; keep q $CG/q/memory.stat
gone c/n c/p c q
"""


@pytest.mark.kernel("vswap", "um", "debug")
def test_groups_race_for_what_others_leave(boot_guest: Boot) -> None:
    result = boot_guest(GONE + TAKE_AND_LEAVE.format(here=Path(__file__).parent), cpus=2)
    assert number(result, "code") == 0 and number(result, "verify") == 0, result.output
    assert all(number(result, f"checked{i}") > 500 for i in range(1, 7))
    assert numbers(result, "c")["vswap_tables"] == numbers(result, "q")["vswap_tables"] == 0
    assert none_is_left(result), result.files["left"]


# The controller moves between the hierarchies while pages are swapped out: each kind counts other slots.
REBOUND = """
out() { hold $1 swapcheck --size 12M --pageout --random 0 --passes 1; }
rebind() { i=0; until "$@" 2> /dev/null || [ $i -gt 100 ]; do sleep 0.1; i=$((i+1)); done; [ $i -le 100 ]; }
out 1; finish 1  # the clusters had a payer
out 2; out 5
echo -memory > $CG/cgroup.subtree_control
umount $CG && mkdir /run/memory && rebind mount -t cgroup -o memory none /run/memory && echo one >> $RESULTS/moved
[ -e /run/memory/memory.memsw.usage_in_bytes ] && echo version-1 >> $RESULTS/moved
finish 2; out 3
umount /run/memory && rebind mount -t cgroup2 none $CG && rebind grep -q memory $CG/cgroup.controllers &&
  echo two >> $RESULTS/moved
verify > $RESULTS/verify  # with slots of both times in a cluster
out 4; for n in 3 4 5; do finish $n; done
settle; verify >> $RESULTS/verify; keep used $V/slots_used
"""


@pytest.mark.kernel("vswap", "um", "debug")
def test_the_controller_moves_to_the_other_hierarchy(boot_guest: Boot) -> None:
    result = boot_guest(HELD + REBOUND, cpus=1)
    assert result.files["moved"].split() == ["one", "version-1", "two"], result.output
    assert [number(result, f"{n}.code") for n in (1, 2, 3, 4, 5)] == [0] * 5
    assert result.files["verify"].split() == ["0", "0"] and number(result, "used") < 256
