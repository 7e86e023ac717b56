# SPDX-License-Identifier: GPL-2.0
"""What was promised: memory.swap.max=0 is "not swapped", and what is older goes to a device first."""

import pytest

from tests.e2e.common import MIB, Boot, answer, emulated_with_checkers, number
from tests.e2e.common import fields as numbers
from vswaplab.guest import GuestResult

pytestmark = [pytest.mark.kernel("vswap", "um", "debug"), pytest.mark.kernel("vswap", "um", "release")]

# Each case: a group p that may have LIMIT MB, with a group p/c in it that wants twice as much. What is set in
# them before, by case; the data is anonymous, or files in tmpfs where the name of the case says so.
LIMIT, LIMIT_CHECKED = 12, 4  # with the checkers on x86-64, a page more costs milliseconds
NOT_SWAPPED = {
    "group": "c/swap=0",
    "parent": "p/swap=0",
    "child-cannot-override": "p/swap=0 c/zswap=64M",
    "each-level-counts": "p/swap=0 c/swap=0 c/zswap=64M",
    "no-zswap-allowed": "c/swap=0 c/zswap=0",
    # What systemd writes for a unit with MemorySwapMax=0 and nothing said about zswap
    "max-says-nothing": "c/swap=0 c/zswap=max",
    "max-takes-it-back": "c/zswap=64M c/zswap=max c/swap=0",
    "tmpfs": "c/swap=0",
}
COMPRESSED = {
    "zswap-set-after": "c/swap=0 c/zswap=64M",
    "zswap-set-before": "c/zswap=64M c/swap=0",
    "zswap-set-in-parent": "p/swap=0 p/zswap=64M",
    "zswap-set-in-both": "p/zswap=64M p/swap=0 c/swap=0 c/zswap=64M",
    "one-page-of-device": "c/swap=4096",
    "tmpfs-zswap-set": "c/swap=0 c/zswap=64M",
}

LIMITED = """
look() {{ for f in zswap swap; do read -r bytes < $CG/p/memory.$f.current; echo $bytes >> $RESULTS/$1.$f; done; }}
limited() {{  # CASE GROUP/FILE=VALUE...
  case=$1 mode=anon; shift
  group p; echo +memory > $CG/p/cgroup.subtree_control; group p/c
  ln -sfn $CG/p/c /run/c; ln -sfn $CG/p /run/p
  echo {limit}M > $CG/p/memory.max
  for set in "$@"; do f=${{set%=*}}; echo ${{set#*=}} > /run/${{f%/*}}/memory.${{f#*/}}.max; done
  case $case in tmpfs*) mode=shm-tmpfs;; esac
  in_group p/c swapcheck --mode $mode --size {size}M --passes 1 --json > $RESULTS/$case.json 2>/dev/null & pid=$!
  look $case; while kill -0 $pid 2>/dev/null; do look $case; sleep 0.1; done
  wait $pid; echo $? > $RESULTS/$case.code
  # What p/c did may be missing from the memory.stat of p for two seconds, on mainline too.
  keep $case.events $CG/p/memory.events; keep $case.stat $CG/p/c/memory.stat
  rmdir $CG/p/c $CG/p
}}
{cases}
"""

SET_UPS = [("auto", "none"), ("always", "none"), ("auto", "file:128M"), ("always", "file:128M")]


@pytest.fixture(scope="module")
def limit(pytestconfig: pytest.Config) -> int:
    return LIMIT_CHECKED if emulated_with_checkers(pytestconfig) else LIMIT


@pytest.fixture(scope="module", params=SET_UPS, ids=["-".join(pair) for pair in SET_UPS])
def cases(request: pytest.FixtureRequest, boot_guest: Boot, limit: int) -> GuestResult:
    """All cases, one after the other in one guest."""
    mode, swap = request.param
    lines = [f"limited {case} {settings}" for case, settings in (NOT_SWAPPED | COMPRESSED).items()]
    text = LIMITED.format(cases="\n".join(lines), limit=limit, size=2 * limit)
    return boot_guest(text, flavour="release", mode=mode, swap=swap, mem_bytes=200 * MIB)


def peak(result: GuestResult, name: str) -> int:
    return max(map(int, result.files[name].split()))


@pytest.mark.parametrize("case", NOT_SWAPPED)
def test_swap_max_zero_is_not_swapped(cases: GuestResult, case: str) -> None:
    """The group is killed at its limit, and not a page of it is in zswap or on a device."""
    killed = numbers(cases, f"{case}.events")["oom_kill"] >= 1 and number(cases, f"{case}.code") != 0
    assert killed, f"it had {peak(cases, f'{case}.zswap')} bytes in zswap and was not killed"
    assert peak(cases, f"{case}.zswap") == peak(cases, f"{case}.swap") == 0
    stat = numbers(cases, f"{case}.stat")
    assert stat["zswpout"] == stat["pswpout"] == stat["swpout_zero"] == 0


@pytest.mark.parametrize("case", COMPRESSED)
def test_zswap_max_that_was_set_allows_zswap(cases: GuestResult, limit: int, case: str) -> None:
    """Whichever is set first. Data is intact, and none is on a device."""
    assert numbers(cases, f"{case}.events")["oom_kill"] == 0 and number(cases, f"{case}.code") == 0
    assert answer(cases, f"{case}.json")["verified"] is True
    stat = numbers(cases, f"{case}.stat")
    assert stat["zswpout"] > limit * MIB // 2 // 4096 and stat["pswpout"] <= 1
    assert peak(cases, f"{case}.swap") <= 4096


def test_swap_max_zero_of_a_group_whose_pages_are_swapped(boot_guest: Boot) -> None:
    """What is in zswap by then stays there and is read back; nothing more goes."""
    result = boot_guest("""
group a
( echo 0 > $CG/a/cgroup.procs; exec swapcheck --size 24M --passes 1 --ready-file /run/ready \\
  --wait-file /run/go --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
echo 8M > $CG/a/memory.reclaim; keep before $CG/a/memory.stat
echo 0 > $CG/a/memory.swap.max
within 10 sh -c "echo 8M > $CG/a/memory.reclaim" 2>/dev/null; keep after $CG/a/memory.stat
touch /run/go; wait $pid; echo $? > $RESULTS/code
""")
    before, after = numbers(result, "before"), numbers(result, "after")
    assert before["zswpout"] > 1000
    assert after["zswpout"] == before["zswpout"]
    assert answer(result, "out.json")["verified"] is True and number(result, "code") == 0


@pytest.mark.kernel("mainline", "um", "release")
def test_a_hundred_megabytes_in_thirty(boot_guest: Boot) -> None:
    """As the issue has it: killed on mainline, with a swapfile and without, and on ours in each mode."""
    setups = [("mainline", "auto", "none"), ("mainline", "auto", "file:256M")]
    for kernel, mode, swap in [*setups, *(("vswap", mode, swap) for mode, swap in SET_UPS)]:
        result = boot_guest(
            """
group a; echo 30M > $CG/a/memory.max; echo 0 > $CG/a/memory.swap.max
in_group a swapcheck --size 100M --ratio 10 --passes 1 > /dev/null 2>&1; echo $? > $RESULTS/code
keep events $CG/a/memory.events
""",
            kernel=kernel, flavour="release", mode=mode, swap=swap,
        )  # fmt: skip
        killed = number(result, "code") != 0 and numbers(result, "events")["oom_kill"] >= 1
        assert killed, f"{kernel}, {mode}, swap device {swap}: 100 MB were verified in memory.max=30M"


# Old data that compresses, then new data that does not: which goes to the device, and which to zswap.
IN_ORDER = """
cat > /run/order.py <<'EOF'
import hashlib, mmap, os, sys, time
SIZE = 8 << 20
if sys.argv[1] == "tmpfs":
    file = open("/dev/shm/order", "w+b")
    file.truncate(2 * SIZE)
    memory = mmap.mmap(file.fileno(), 2 * SIZE)
else:
    memory = mmap.mmap(-1, 2 * SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, SIZE, 4096):  # no copies: they would be swapped as well
    memory[at:at + 4096] = bytes([at // 4096 % 251 + 1]) * 2048 + bytes(2048)
    memory[SIZE + at:SIZE + at + 4096] = os.urandom(4096)
written = hashlib.sha256(memory).digest()
open("/run/ready", "w").close()
while not os.path.exists("/run/go"):
    time.sleep(0.05)
sys.exit(hashlib.sha256(memory).digest() != written)
EOF
group a
in_group a python3 /run/order.py {what} & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
within 20 sh -c "echo 24M > $CG/a/memory.reclaim" 2>/dev/null
sleep 2.5
keep stat $CG/a/memory.stat; keep incompressible /sys/kernel/debug/zswap/stored_incompressible_pages
touch /run/go; wait $pid; echo $? > $RESULTS/code; rm -f /dev/shm/order
"""


@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize("what", ["anon", "tmpfs"])
@pytest.mark.parametrize("swap", ["file:128M", "zram:128M"])
def test_with_a_device_random_data_is_stored_as_it_is(boot_guest: Boot, what: str, swap: str) -> None:
    """As on mainline: in zswap, in its turn, not on the device before what is older."""
    for kernel, mode in (("mainline", "auto"), ("vswap", "auto"), ("vswap", "always")):
        text = IN_ORDER.format(what=what)
        result = boot_guest(text, kernel=kernel, flavour="release", mode=mode, swap=swap)
        assert number(result, "code") == 0
        stat = numbers(result, "stat")
        stored, written = stat["zswap_incomp"], stat["pswpout"]
        said = f"{kernel}, {mode}: {stored} bytes as they are, {written} pages on the device"
        assert stored > 4 * MIB and written == 0, said
        assert number(result, "incompressible") > 1000, said


# Both groups can have a megabyte in zswap, and are asked to give up eight. Somebody else has the device.
NO_ROOM = """
if [ -n "$(device)" ]; then
  group other; echo 0 > $CG/other/memory.zswap.max
  in_group other swapcheck --size 16M --random 100 --pageout --ready-file /run/ready --wait-file /run/go \\
    --json=$RESULTS/other.json & other=$!
  until [ -e /run/ready ]; do sleep 0.1; done
  keep other.current $CG/other/memory.swap.current
fi
for group in max 0; do
  group $group; echo $group > $CG/$group/memory.swap.max; echo 1M > $CG/$group/memory.zswap.max
  in_group $group swapcheck --size 8M --text 40 --pageout --passes 1 --json=$RESULTS/$group.json
  for f in peak events; do keep $group.$f $CG/$group/memory.swap.$f; done
  keep $group.stat $CG/$group/memory.stat
done
touch /run/go
wait $other
"""


@pytest.mark.parametrize("swap", ["none", "file:4M"])
def test_slots_that_no_device_has_are_not_charged(boot_guest: Boot, swap: str) -> None:
    """Not for a moment either: memory.swap.peak would keep it, and a limit of 0 would count it."""
    result = boot_guest(NO_ROOM, flavour="release", swap=swap)
    if swap != "none":
        assert number(result, "other.current") > 3.9 * MIB, "the device has room"
        assert answer(result, "other.json")["verified"] is True
    for group in ("max", "0"):
        assert answer(result, f"{group}.json")["verified"] is True
        assert numbers(result, f"{group}.stat")["zswpout"] > 256
        events = numbers(result, f"{group}.events")
        assert events["fail"] > 100, "nothing was asked of devices"
        assert number(result, f"{group}.peak") == 0 and events["max"] == 0, events


@pytest.mark.parametrize("what", ["anon", "tmpfs"])
@pytest.mark.parametrize("why", ["no-device", "no-space-allowed"])
def test_without_a_usable_device_what_does_not_compress_stays(boot_guest: Boot, what: str, why: str) -> None:
    """Stored as it is it would take more memory than it gives."""
    forbid = "group a; echo 0 > $CG/a/memory.zswap.writeback\n" if why == "no-space-allowed" else ""
    swap = "file:128M" if forbid else "none"
    result = boot_guest(forbid + IN_ORDER.format(what=what), flavour="release", swap=swap)
    stat = numbers(result, "stat")
    assert number(result, "code") == 0
    assert stat["zswap_incomp"] == 0 and stat["pswpout"] == 0 and stat["zswapped"] > 4 * MIB
    assert "vswap_refused" in stat, "memory.stat has no line vswap_refused"
    assert 4 * MIB < stat["vswap_refused"] <= 9 * MIB


# A page is paged out, which finds that there is room; at once the limit is written, and more pages follow. On one
# CPU: madvise() cannot take a page that waits in the batch of another one to get on the LRU lists.
AT_ONCE = """
import mmap, os, sys
PAGEOUT, N = 21, 31
os.sched_setaffinity(0, {0})
def out():
    with open("/proc/vmstat") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith(("zswpout ", "swpout_zero ")))
memory = mmap.mmap(-1, (N + 1) * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
limit = os.open("/sys/fs/cgroup/a/memory.swap.max", os.O_WRONLY)
first = more = 0
for turn in range(100):
    for page in range(N + 1):
        memory[page * 4096 : (page + 1) * 4096] = bytes([turn, page]) * 2048
    before = out()
    memory.madvise(PAGEOUT, 0, 4096)
    os.pwrite(limit, b"0", 0)
    middle = out()
    memory.madvise(PAGEOUT, 4096, N * 4096)
    first, more = first + middle - before, more + out() - middle
    os.pwrite(limit, b"max", 0)
    assert all(memory[page * 4096 : (page + 1) * 4096] == bytes([turn, page]) * 2048 for page in range(N + 1))
print(first, more)
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_swap_max_zero_holds_at_once(boot_guest: Boot) -> None:
    """What was found a moment ago to have room is not swapped after the limit was written."""
    script = f"""
cat > /run/at_once.py <<'EOF'{AT_ONCE}EOF
group a; in_group a python3 /run/at_once.py > $RESULTS/seen
"""
    first, more = map(int, boot_guest(script, flavour="release").files["seen"].split())
    assert first >= 50 and more == 0


# Pages are read back from zswap, and keep their slots: then the limit becomes 0.
# On one CPU: madvise() cannot take a page that waits in the batch of another one, which keeps its slot then.
DRAINED = """
import mmap, os
os.sched_setaffinity(0, {0})
N, PAGEOUT = 1000, 21
def out():
    with open("/proc/vmstat") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith(("zswpout ", "pswpout ")))
def read():
    assert all(memory[page * 4096 : (page + 1) * 4096] == page.to_bytes(8, "little") * 512 for page in range(N))
memory = mmap.mmap(-1, N * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(N):
    memory[page * 4096 : (page + 1) * 4096] = page.to_bytes(8, "little") * 512
memory.madvise(PAGEOUT)
read()
with open("/sys/fs/cgroup/a/memory.swap.max", "w") as limit:
    limit.write("0")
for turn in range(3):
    before = out()
    memory.madvise(PAGEOUT)
    print(out() - before)
    read()
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_swap_max_zero_takes_slots_back(boot_guest: Boot) -> None:
    """Pages that have slots can be swapped out once more, as on a disk; when they are read, the slots go."""
    script = f"""
cat > /run/drained.py <<'EOF'{DRAINED}EOF
group a; in_group a python3 /run/drained.py > $RESULTS/seen
"""
    first, second, third = map(int, boot_guest(script, flavour="release").files["seen"].split())
    assert first > 900 and (second, third) == (0, 0)


# 24 MB of zeroes and 24 MB of text, of a group that may have 2 MB of a device that has room for all.
ZEROES = """
group a; echo 2060K > $CG/a/memory.swap.max  # 515 pages: the last of batches of 32 does not fit
limited() {  # NAME OPTIONS...: all of the data is pushed out, and read back
  name=$1; shift; rm -f /run/ready /run/go
  in_group a swapcheck --size 24M --passes 1 "$@" --ready-file /run/ready --wait-file /run/go \
    --json > $RESULTS/$name.json & pid=$!
  while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
  within 10 sh -c "echo 24M > $CG/a/memory.reclaim" 2>/dev/null; sleep 2.5
  keep $name.swap $CG/a/memory.swap.current; keep $name.events $CG/a/memory.swap.events
  keep $name.stat $CG/a/memory.stat; keep $name.slots $V/slots_used
  touch /run/go; wait $pid; echo $? > $RESULTS/$name.code
}
limited zeroes --zero 100
echo 0 > $CG/a/memory.zswap.max
limited text --text 50 --zero 0
"""


def test_zeroes_are_not_limited_by_swap_max_but_charged(boot_guest: Boot) -> None:
    """Behind virtual slots they take nothing on the device: the tables are what they cost, and who pays.

    The same amount of other data, which zswap may not have, stops at the limit.
    """
    result = boot_guest(ZEROES, flavour="release", swap="file:128M", mem_bytes=200 * MIB)
    for name in ("zeroes", "text"):
        assert number(result, f"{name}.code") == 0 and answer(result, f"{name}.json")["verified"] is True
    zeroes, text = (numbers(result, f"{name}.stat") for name in ("zeroes", "text"))
    slots = number(result, "zeroes.slots")
    assert slots > 5500 and zeroes["swpout_zero"] > 5500 and zeroes["pswpout"] == 0, zeroes
    assert number(result, "zeroes.swap") == 0 and numbers(result, "zeroes.events")["max"] == 0
    assert zeroes["vswap_tables"] >= 17 * slots, zeroes
    assert MIB < number(result, "text.swap") <= 2060 << 10 and numbers(result, "text.events")["max"] > 0, text
