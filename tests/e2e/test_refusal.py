# SPDX-License-Identifier: GPL-2.0
"""Without a device what does not compress stays in memory: found out fast, the matter of its group only."""

import statistics
from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, emulated_with_checkers, number, patience
from tests.e2e.common import fields as numbers
from vswaplab.guest import GuestResult

LONG = pytest.mark.long

# Until the group is killed, or for so many seconds; and what is left of it then ends as well.
UNTIL_KILLED = """
now() {{ read up _ < /proc/uptime; echo $up; }}
group a; echo {limit}M > $CG/a/memory.max
now > $RESULTS/started
in_group a {command} > /run/said 2>&1 & pid=$!
( sleep {patience}; touch /run/over ) & watch=$!
while kill -0 $pid 2>/dev/null && [ ! -e /run/over ] && grep -q '^oom_kill 0$' $CG/a/memory.events; do
  sleep 0.05
done
now > $RESULTS/killed; keep events $CG/a/memory.events
kill $watch; for p in $(cat $CG/a/cgroup.procs); do kill -9 $p; done; wait $pid
"""

SWAPCHECK = "swapcheck --size {size}M --random 100 --passes 1"
PYTHON = 'python3 -c "import os; x = [os.urandom(1 << 20) for i in range({size})]"'


def seconds_to_kill(result: GuestResult) -> float:
    return float(result.files["killed"]) - float(result.files["started"])


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize(
    ("command", "limit", "cpus"),
    [
        (SWAPCHECK, 128, 1),
        pytest.param(SWAPCHECK, 512, 1, marks=LONG),
        pytest.param(SWAPCHECK, 1024, 1, marks=LONG),
        (PYTHON, 64, 2),
        pytest.param(PYTHON, 256, 2, marks=LONG),
    ],
    ids=["swapcheck-128", "swapcheck-512", "swapcheck-1024", "python-64", "python-256"],
)
def test_the_kill_comes_soon(
    boot_guest: Boot, pytestconfig: pytest.Config, command: str, limit: int, cpus: int
) -> None:
    """Random data, twice the limit: mainline, which cannot swap at all, says how long that takes at best.

    With the checkers on that says too little: to find that a page does not compress is most of the work. There,
    mainline has a device, so that it tries, and keeps what does not compress in memory as it is.
    """
    taken: dict[str, float] = {}
    for kernel in ("mainline", "vswap"):
        compresses = kernel == "mainline" and emulated_with_checkers(pytestconfig)
        wait = patience(120, pytestconfig) if kernel == "mainline" else 4 + 4 * taken["mainline"]
        result = boot_guest(
            UNTIL_KILLED.format(limit=limit, command=command.format(size=2 * limit), patience=wait),
            kernel=kernel, flavour="release", mem_bytes=(limit + max(limit, 960)) * MIB, cpus=cpus,
            swap=f"file:{2 * limit}M" if compresses else "none",
        )  # fmt: skip
        taken[kernel] = seconds_to_kill(result)
        killed = numbers(result, "events")["oom_kill"] >= 1
        assert killed, f"{kernel}: nothing was killed: seconds {taken}"
    assert taken["vswap"] <= 2 + 2 * taken["mainline"], taken


# zswap may have an eighth of what the group has, all of whose data compresses: then nothing more can go.
FULL = UNTIL_KILLED.replace(
    "now > $RESULTS/started", "echo {share}M > $CG/a/memory.zswap.max; now > $RESULTS/started", 1
)


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize("limit", [64, pytest.param(512, marks=LONG)])
def test_the_kill_comes_soon_when_zswap_max_is_reached(
    boot_guest: Boot, pytestconfig: pytest.Config, limit: int
) -> None:
    """Data that compresses, four times the limit. Mainline cannot swap at all, and says how long a kill takes."""
    taken: dict[str, float] = {}
    command = f"swapcheck --size {4 * limit}M --text 100 --passes 1"
    for kernel in ("mainline", "vswap"):
        wait = patience(120, pytestconfig) if kernel == "mainline" else 8 + 8 * taken["mainline"]
        result = boot_guest(
            FULL.format(limit=limit, share=limit // 8, command=command, patience=wait), kernel=kernel,
            flavour="release", mem_bytes=(limit + max(limit, 960)) * MIB, cpus=1,
        )  # fmt: skip
        taken[kernel] = seconds_to_kill(result)
        assert numbers(result, "events")["oom_kill"] >= 1, f"{kernel}: nothing was killed: seconds {taken}"
    # Twice as much data is taken before nothing more can go, a part of it compressed.
    assert taken["vswap"] <= 3 + 3 * taken["mainline"], taken


@pytest.mark.parametrize(
    ("arch", "flavour", "size", "limit"),
    [
        pytest.param(arch, flavour, size, limit, marks=[pytest.mark.kernel("vswap", arch, flavour), *marks])
        for arch, flavour, size, limit, *marks in (
            ("um", "release", 96, 64),
            ("x86_64", "release", 96, 64),
            ("x86_64", "debug", 48, 32, LONG),
            ("x86_64", "release", 768, 512, LONG),
        )
    ],
)
def test_what_compresses_makes_room_for_the_rest(
    boot_guest: Boot, arch: str, flavour: str, size: int, limit: int
) -> None:
    """Half of the data is random; with all of the rest compressed there is room for 6 % more.

    On x86-64 each huge page is refused in part: when it is tried again, unmapped, it has to be split.

    The larger machine is QEMU's: on User-Mode Linux each page whose neighbours are not in memory is a
    mapping of the host's, and more than the host's vm.max_map_count (65,530) of them stop the process.
    """
    memory = limit + (192 if flavour == "release" else 576)
    result = boot_guest(
        f"""
huge=/sys/kernel/mm/transparent_hugepage/enabled
[ ! -e $huge ] || echo always > $huge  # the default with 512 MB and more
group a; echo {limit}M > $CG/a/memory.max
in_group a swapcheck --size {size}M --random 50 --ratio 5 --passes 2 --json > $RESULTS/out.json & pid=$!
while kill -0 $pid 2>/dev/null; do cat $V/zswap >> $RESULTS/held; sleep 0.1; done
keep events $CG/a/memory.events
grep ^thp_fault_alloc /proc/vmstat > $RESULTS/huge || echo none 0 > $RESULTS/huge
""",
        arch=arch, flavour=flavour, timeout=900.0, mem_bytes=memory * MIB,
    )  # fmt: skip
    assert numbers(result, "events")["oom_kill"] == 0 and result.oom_kills == []
    assert answer(result, "out.json")["verified"] is True
    huge, faults = result.files["huge"].split()
    assert (int(faults) > 0) is (huge != "none") and (arch == "um" or huge != "none")
    # Of the half that compresses, all but what is just being used.
    assert max(map(int, result.files["held"].split())) > 0.8 * size * MIB / 2 / 4096


# A program that takes memory page by page until it is killed, or gets nowhere: on mainline that may last minutes,
# because its own code is read again and again. Every other page compresses to COMPRESSED bytes.
COMPRESSED = 600
GROW = """
group a; echo {limit}M > $CG/a/memory.max
cat > /run/grow.py <<'EOF'
import mmap, os
PAGES = {most} << 8
memory = mmap.mmap(-1, PAGES << 12, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
said = os.open(os.environ["RESULTS"] + "/pages", os.O_WRONLY | os.O_CREAT)
for page in range(PAGES):
    hard = os.urandom(4096 if page % 2 else 512)
    memory[page << 12 : page + 1 << 12] = hard + bytes([page % 251 + 1]) * (4096 - len(hard))
    if page % 64 == 63:
        os.pwrite(said, b"%d\\n" % (page + 1), 0)
EOF
in_group a timeout -s KILL {patience} python3 /run/grow.py; echo $? > $RESULTS/code
"""


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize("limit", [48, pytest.param(192, marks=LONG)])
def test_no_kill_before_mainlines_with_a_swapfile(
    boot_guest: Boot, pytestconfig: pytest.Config, limit: int
) -> None:
    """Half of the data compresses. Mainline has a swap file of the size that this saves, and no zswap."""
    in_memory = (1 + COMPRESSED / 4096) / 2  # of each page, on average
    saved = limit / in_memory - limit
    pages: dict[str, int] = {}
    for kernel in ("mainline", "vswap"):
        mainline = kernel == "mainline"
        result = boot_guest(
            GROW.format(limit=limit, most=9 * limit // 4, patience=patience(20 + limit // 8, pytestconfig)),
            kernel=kernel, flavour="release", mem_bytes=(limit + 160) * MIB, cpus=1, pool_percent=90,
            swap=f"file:{int(saved * 1024)}K" if mainline else "none", zswap=not mainline,
        )  # fmt: skip
        assert number(result, "code") == 137, result.output
        pages[kernel] = number(result, "pages")
    assert pages["mainline"] > 1.3 * limit * MIB / 4096, pages
    assert pages["vswap"] >= 0.95 * pages["mainline"], pages


# A neighbour that is at its limit all the time: 60 MB that do not compress, and files that it reads. Then
# a program with compressible data, more than the machine has. {lock}: whether the 60 MB are locked.
NEIGHBOUR = """
mkdir /run/disk; disk=$(scratch); mkfs.ext2 -q $disk; mount $disk /run/disk
dd if=/dev/urandom of=/run/disk/file bs=1M count=24 2>/dev/null
cat > /run/neighbour.py <<'EOF'
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
held = mmap.mmap(-1, 60 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(held), 1 << 20):
    held[at:at + (1 << 20)] = os.urandom(1 << 20)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(held)))
if sys.argv[1] == "locked":
    assert libc.mlock(address, ctypes.c_size_t(len(held))) == 0
open("/run/ready", "w").close()
file = os.open("/run/disk/file", os.O_RDONLY)
while True:
    for at in range(0, 24 << 20, 1 << 18):
        os.pread(file, 1 << 18, at)
        time.sleep(0.005)
EOF
"""

WITH_NEIGHBOUR = (
    NEIGHBOUR
    + """
for round in 1 2 3 4 5; do for lock in locked refused; do
  n=$lock$round; group n$n; group o$n; echo 76M > $CG/n$n/memory.max; rm -f /run/ready
  in_group n$n python3 /run/neighbour.py $lock & pid=$!
  while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
  in_group o$n usemem -O --init-time --json 160M > $RESULTS/$n.json
  echo $? > $RESULTS/$n.code
  cat $CG/o$n/memory.events $CG/n$n/memory.events > $RESULTS/$n.events
  for p in $(cat $CG/n$n/cgroup.procs); do kill -9 $p; done; wait $pid
done; done
"""
)


@LONG  # and rates: on a machine that does something else as well they say little
@pytest.mark.kernel("vswap", "um", "release")
def test_a_neighbour_that_is_refused_disturbs_nobody(boot_guest: Boot) -> None:
    """With the neighbour's pages in memory because they are locked, and because they do not compress."""
    result = boot_guest(
        WITH_NEIGHBOUR, flavour="release", mem_bytes=192 * MIB, cpus=2, scratch=64 * MIB, timeout=200.0,
        # kswapd needs memory to compress; with two processes that allocate it may find none, as on mainline
        expected=["page allocation failure: order:0"],
    )  # fmt: skip
    rates: dict[str, list[float]] = {"locked": [], "refused": []}
    for lock in rates:
        for turn in "12345":
            assert number(result, f"{lock}{turn}.code") == 0, f"{lock}: {result.oom_kills} {result.output}"
            rates[lock].append(answer(result, f"{lock}{turn}.json")["throughput_kb_s"])
    assert result.oom_kills == []
    # The host may be busy with other things: pairs that ran one after the other are compared.
    ratios = [refused / locked for refused, locked in zip(rates["refused"], rates["locked"], strict=True)]
    assert statistics.median(ratios) >= 0.75, rates


# Random pages are refused when they are pushed out; after {then} they are pushed out again.
REFUSED = """
cat > /run/pages.py <<'EOF'
import hashlib, json, mmap, os, re, subprocess, sys, time
SIZE = 16 << 20
memory = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

def look():
    # What zswap has, what was refused and the slots on devices: in pages.
    time.sleep(2.5)  # memory.stat may be that old
    text = open("/sys/fs/cgroup/a/memory.stat").read()
    stat = dict(line.split() for line in text.splitlines())
    physical = open("/sys/kernel/mm/vswap/physical").read()
    names = "zswapped", "zswap_incomp", "vswap_refused"
    pages = {{name: int(stat.get(name, -4096)) >> 12 for name in names}}
    return {{**pages, "physical": int(physical)}}

def push():
    memory.madvise(21)  # MADV_PAGEOUT
    return look()

for at in range(0, SIZE, 4096):
    memory[at:at + 4096] = os.urandom(4096)
seen = [look(), push()]
{then}
written = hashlib.sha256(memory).digest()
seen.append(push())
assert hashlib.sha256(memory).digest() == written
memory.close()
seen.append(look())
json.dump(seen, open(os.environ["RESULTS"] + "/seen", "w"))
EOF
group a; export DISK=$(scratch); in_group a python3 /run/pages.py; echo $? > $RESULTS/code
"""

PAGES = 16 * MIB // 4096


@pytest.mark.kernel("vswap", "um", "debug")
def test_a_refused_page_that_was_rewritten_is_swapped_at_once(boot_guest: Boot) -> None:
    """Half of the pages get data that compresses: they go, and the others are known not to."""
    then = """
for at in range(0, SIZE // 2, 4096):
    memory[at:at + 4096] = bytes([at // 4096 % 251 + 1]) * 2048 + bytes(2048)"""
    result = boot_guest(REFUSED.format(then=then))
    assert number(result, "code") == 0, result.output
    at_first, refused, rewritten, freed = answer(result, "seen")
    assert refused["zswapped"] < PAGES // 10 and rewritten["zswapped"] >= 0.95 * PAGES / 2
    assert refused["vswap_refused"] >= 0, "memory.stat has no line vswap_refused"
    assert at_first["vswap_refused"] == 0 and refused["vswap_refused"] >= 0.95 * PAGES
    assert 0.95 * PAGES / 2 <= rewritten["vswap_refused"] <= 1.05 * PAGES / 2
    assert freed["vswap_refused"] == 0


@pytest.mark.kernel("vswap", "um", "debug")
def test_refused_pages_that_are_locked_do_not_count(boot_guest: Boot) -> None:
    """While they are; unlocked, they are tried, and refused, once more."""
    then = f"""
sys.path.insert(0, "{Path(__file__).parent}")
from swapped_pages import lock
half = range(SIZE // 2 // 4096)
sum(memory[:SIZE // 2:4096])  # mapped again by reading, it keeps its slots when it is locked
lock(memory, half)
seen.append(look())
lock(memory, half, "munlock")"""
    result = boot_guest(REFUSED.format(then=then))
    assert number(result, "code") == 0, result.output
    _, refused, locked, unlocked, freed = answer(result, "seen")
    assert refused["vswap_refused"] >= 0, "memory.stat has no line vswap_refused"
    assert refused["vswap_refused"] >= 0.95 * PAGES and unlocked["vswap_refused"] >= 0.95 * PAGES
    assert 0.95 * PAGES / 2 <= locked["vswap_refused"] <= 1.05 * PAGES / 2
    assert freed["vswap_refused"] == 0


# 24 MB that do not compress, in a group that may have 34. They are refused when they are pushed out; then half
# of them is locked, and nobody touches the others. {soft} pages that compress are swapped through the rest.
LOCKED_AND_IDLE = """
cat > /run/locked.py <<'EOF'
import os, re, sys
sys.path.insert(0, "{here}")
from swapped_pages import MADV_PAGEOUT, PAGE, anonymous, enter, fill, holds, lock
HARD, SOFT = 6144, {soft}
enter("a")  # only now: the group has no files that could be reclaimed instead
hard = anonymous(HARD)
for page in range(HARD):
    hard[page * PAGE:(page + 1) * PAGE] = os.urandom(PAGE)
hard.madvise(MADV_PAGEOUT)
sum(hard[:len(hard) // 2:PAGE])  # mapped again by reading, it keeps its slots when it is locked
lock(hard, range(HARD // 2))
soft = anonymous(SOFT)
for turn in range(3):
    for page in range(SOFT):
        assert not turn or holds(soft, [page], turn - 1)
        fill(soft, [page], turn)
stat = open("/sys/fs/cgroup/a/memory.stat").read()
for name in ("zswpout", "vswap_refused"):
    print(re.search(rf"^{{name}} (\\d+)$", stat, re.M)[1])
EOF
group a; echo 34M > $CG/a/memory.max
CG=$CG python3 /run/locked.py > $RESULTS/stat; echo $? > $RESULTS/code; keep events $CG/a/memory.events
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_locked_refused_pages_do_not_hide_what_compresses(boot_guest: Boot) -> None:
    """The OOM killer has no reason to act, although less than what is locked can be swapped out."""
    soft = 64 * MIB // 4096
    result = boot_guest(
        LOCKED_AND_IDLE.format(here=Path(__file__).parent, soft=soft), flavour="release", mem_bytes=192 * MIB
    )
    assert numbers(result, "events")["oom_kill"] == 0 and result.oom_kills == []
    assert number(result, "code") == 0, result.output
    swapped, refused = map(int, result.files["stat"].split())
    assert swapped > soft  # otherwise nothing was tried
    assert 11 * MIB < refused < 13 * MIB


# Four processes have 4 MB of random data each: one thread locks and unlocks parts of it, the other writes to it
# and pushes it out.
LOCKING_RACE = """
cat > /run/race.py <<'EOF'
import ctypes, os, random, sys, threading, time
sys.path.insert(0, "{here}")
from swapped_pages import MADV_PAGEOUT, PAGE, address, anonymous, lock
PAGES = 1024
choose = random.Random(int(sys.argv[1]))
memory = anonymous(PAGES)
until = time.monotonic() + {seconds}

def locks():
    while time.monotonic() < until:
        first = choose.randrange(PAGES)
        pages = range(first, min(first + choose.randrange(1, 200), PAGES))
        sum(memory[pages.start * PAGE:pages.stop * PAGE:PAGE])
        for call in "mlock", "munlock": lock(memory, pages, call)

expected = bytearray(os.urandom(PAGES * PAGE))
memory[:] = expected
thread, turns = threading.Thread(target=locks), 0
thread.start()
while time.monotonic() < until:
    # Of the C library, as it lets the other thread run. It ends at a locked part.
    ctypes.CDLL(None).madvise(address(memory), ctypes.c_size_t(PAGES * PAGE), MADV_PAGEOUT)
    for _ in range(100):
        at = random.randrange(PAGES) * PAGE
        data = os.urandom(PAGE) if random.random() < 0.9 else bytes(PAGE)
        assert memory[at:at + PAGE] == expected[at:at + PAGE]
        memory[at:at + PAGE] = expected[at:at + PAGE] = data
    turns += 1
thread.join()
assert memory == expected
print(turns)
EOF
group a; pids=
for n in 1 2 3 4; do
  in_group a python3 /run/race.py $n > $RESULTS/turns.$n & pids="$pids $!"
done
failed=0; for pid in $pids; do wait $pid || failed=$((failed + 1)); done; echo $failed > $RESULTS/failed
keep refusals $V/refused
"""


@pytest.mark.kernel("vswap", "um", "debug", checkers=True)
def test_locking_races_reclaim(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """All data is right, and the number of refused pages is zero in the end; the guest checks its words."""
    seconds = 60 if pytestconfig.getoption("--on") else 10  # an emulated debug kernel takes seconds for a turn
    result = boot_guest(LOCKING_RACE.format(here=Path(__file__).parent, seconds=seconds), cpus=2, timeout=300.0)
    assert number(result, "failed") == 0, result.output
    assert all(number(result, f"turns.{n}") >= 5 for n in range(1, 5))
    assert number(result, "refusals") == 0


@pytest.mark.kernel("vswap", "um", "debug")
@pytest.mark.parametrize(
    ("mode", "zswap"),
    [("auto", ""), ("always", ""), ("auto", "enabled=N"), ("auto", "max_pool_percent=0")],
    ids=["auto", "always", "disabled", "full"],
)
def test_refused_pages_go_when_a_device_comes(boot_guest: Boot, mode: str, zswap: str) -> None:
    """Into zswap as they are, or to the device: out of memory, and intact."""
    then = """
device = os.environ["DISK"]
subprocess.run(["mkswap", device], check=True, stdout=subprocess.DEVNULL)
subprocess.run(["swapon", device], check=True)"""
    if zswap:
        name, value = zswap.split("=")
        then += f"""
open("/sys/module/zswap/parameters/{name}", "w").write("{value}")"""
    result = boot_guest(REFUSED.format(then=then), mode=mode, scratch=64 * MIB)
    assert number(result, "code") == 0, result.output
    _, refused, moved, freed = answer(result, "seen")
    assert refused["zswapped"] < PAGES // 10 and refused["physical"] == 0
    assert refused["vswap_refused"] >= 0, "memory.stat has no line vswap_refused"
    assert refused["vswap_refused"] >= 0.95 * PAGES and moved["vswap_refused"] <= 0.05 * PAGES
    assert moved["zswap_incomp"] + moved["physical"] >= 0.9 * PAGES
    assert freed["vswap_refused"] == 0


# 48 MB of data, 30 % of which does not compress; the rest, 34 MB, is touched page by page in random order, in
# a group that may have 32 MB: so it swaps all the time.
STEADY = """
cat > /run/steady.py <<'EOF'
import ctypes, mmap, os, random, sys
PAGES, HARD = 12288, 3686
memory = mmap.mmap(-1, PAGES << 12, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(PAGES):
    data = os.urandom(4096) if page < HARD else os.urandom(512) * 2 + bytes([page % 251 + 1]) * 3072
    memory[page << 12:page + 1 << 12] = data
    if page == HARD and sys.argv[1] == "locked":
        start = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
        assert ctypes.CDLL(None).mlock(start, ctypes.c_size_t(HARD << 12)) == 0

def spent():
    return int(open("/sys/fs/cgroup/" + sys.argv[2] + "/cpu.stat").readline().split()[1])

choose = random.Random(int(sys.argv[3]))
for measured in (False, True):
    start = spent()
    for turn in range(8000):
        memory[choose.randrange(HARD, PAGES) << 12] = turn & 255
    if measured:
        print(spent() - start)
EOF
for round in 1 2 3 4 5 6 7; do for lock in locked refused; do
  group $lock$round; echo 32M > $CG/$lock$round/memory.max
  in_group $lock$round python3 /run/steady.py $lock $lock$round $round >> $RESULTS/$lock ||
    echo $lock >> $RESULTS/failed
  grep ^zswpout $CG/$lock$round/memory.stat >> $RESULTS/$lock.out
done; done
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_refused_pages_cost_no_time_in_the_long_run(boot_guest: Boot) -> None:
    """As little as if they were locked. The guest's clock counts instructions: no other load disturbs."""
    result = boot_guest(STEADY, arch="x86_64", flavour="release", icount=True, mem_bytes=256 * MIB, timeout=3000.0)
    assert "failed" not in result.files and result.oom_kills == []
    spent = {lock: sorted(map(int, result.files[lock].split())) for lock in ("locked", "refused")}
    assert all(len(times) == 7 for times in spent.values())
    for lock in spent:  # otherwise nothing was measured
        assert min(int(line.split()[1]) for line in result.files[f"{lock}.out"].splitlines()) > 5000
    assert spent["refused"][3] <= 1.05 * spent["locked"][3], spent


# The only device is full of what was swapped out while zswap was off. Then random pages go out and come back.
DEVICE_FULL = """
cat > /run/full.py <<'EOF'
import os, sys
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, anonymous, fill, page_out
PAGES = 6000
def say(path, text):
    with open(path, "w") as file:
        file.write(text)
def count(name):
    return int(open("/sys/kernel/mm/vswap/" + name).read())
say("/sys/module/zswap/parameters/enabled", "N")
other = anonymous(PAGES)
fill(other, range(PAGES))
page_out(other, PAGES * PAGE)
say("/sys/module/zswap/parameters/enabled", "Y")
memory = anonymous(PAGES)
data = os.urandom(PAGES * PAGE)
memory[:] = data
for _ in range(6):
    page_out(memory, PAGES * PAGE)
    assert memory[:] == data
print(PAGES, count("refused"), count("slots_used"), open("/proc/swaps").read().split()[-2])
EOF
python3 /run/full.py > $RESULTS/seen; echo $? > $RESULTS/code; settle; left
"""


@pytest.mark.parametrize(
    "flavour",
    [
        pytest.param("release", marks=pytest.mark.kernel("vswap", "um", "release")),
        pytest.param("minimal", marks=[LONG, pytest.mark.kernel("vswap", "um", "minimal")]),  # without groups
    ],
)
def test_refused_pages_keep_their_slots_with_the_device_full(boot_guest: Boot, flavour: str) -> None:
    """They have nothing on the device. Without their slots, each would be compressed again whenever it is met."""
    result = boot_guest(
        DEVICE_FULL.format(here=Path(__file__).parent), flavour=flavour, mem_bytes=128 * MIB, swap="file:8M"
    )
    assert number(result, "code") == 0, result.output
    pages, refused, slots, used = map(int, result.files["seen"].split())
    assert used > 7 * 1024 and 0.9 * pages < refused <= slots < 1.2 * pages, result.files["seen"]
