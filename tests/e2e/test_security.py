# SPDX-License-Identifier: GPL-2.0
"""What user space that may nothing learns of virtual swap: no positions, no pointers, no data of others."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from vswaplab.stress import tally

pytestmark = pytest.mark.kernel("vswap", "um", "debug")

# A process without privileges looks at its own swapped pages in /proc/self/pagemap, and at files.
UNPRIVILEGED = """
cat > /run/look.py <<'EOF'
import glob, json, mmap, os, struct
PAGES = 512
memory = mmap.mmap(-1, PAGES * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(PAGES):
    memory[page * 4096:page * 4096 + 4096] = (b"%8d" % page) * 512
for _ in range(20):
    memory.madvise(21)  # MADV_PAGEOUT
start = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps")
             if int(line.split("-")[1].split()[0], 16) - int(line.split("-")[0], 16) == PAGES * 4096)
with open("/proc/self/pagemap", "rb") as file:
    file.seek(start // 4096 * 8)
    entries = struct.unpack(f"{PAGES}Q", file.read(PAGES * 8))
swapped = [entry for entry in entries if entry >> 62 & 1]
files = glob.glob("/sys/kernel/mm/vswap/*")
def opens(path, mode):
    try:
        open(path, mode).close()
    except OSError:
        return False
    return True
print(json.dumps({
    "swapped": len(swapped),
    "with a position": sum(bool(entry & (1 << 55) - 1) for entry in swapped),
    "writable": [path for path in files if opens(path, "r+")],
    "debugfs": os.access("/sys/kernel/debug", os.R_OK | os.X_OK),
    "tracing": opens("/sys/kernel/tracing/events/vswap/enable", "r")
        or opens("/sys/kernel/debug/tracing/events/vswap/enable", "r"),
    "values": {os.path.basename(path): open(path).read().strip() for path in files if opens(path, "r")},
}))
EOF
python3 /run/look.py > $RESULTS/root.json
setpriv --reuid=65534 --regid=65534 --clear-groups python3 /run/look.py > $RESULTS/nobody.json
"""


@pytest.mark.parametrize(("mode", "zswap"), [("auto", True), ("always", False)])
def test_what_an_unprivileged_process_sees(
    boot_guest: Boot, record_property: Callable[[str, object], None], mode: str, zswap: bool
) -> None:
    swap = "none" if zswap else "file:64M"
    result = boot_guest(UNPRIVILEGED, mode=mode, zswap=zswap, swap=swap, mem_bytes=200 * MIB)
    root, nobody = answer(result, "root.json"), answer(result, "nobody.json")
    assert root["swapped"] > 400 and root["with a position"] > 400  # otherwise the test sees nothing
    assert nobody["swapped"] > 400 and nobody["with a position"] == 0
    record_property(f"{tally.FIGURE}swap entries looked at without privileges", nobody["swapped"])
    assert root["debugfs"] and root["tracing"] and any(path.endswith("/mode") for path in root["writable"])
    assert nobody["writable"] == [] and not nobody["debugfs"] and not nobody["tracing"]
    assert set(root["values"]) - set(nobody["values"]) == {"free_contiguous"}  # which is work for the kernel
    for name, value in nobody["values"].items():
        assert name == "mode" or value.isdigit() and int(value) < 1 << 40, (name, value)


RECYCLED = """
cat > /run/secret.py <<'EOF'
import mmap, os, sys
PAGES = 4096
secret = b"the secret of another process   "
memory = mmap.mmap(-1, PAGES * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if sys.argv[1] == "write":
    for page in range(PAGES):
        memory[page * 4096:page * 4096 + 4096] = secret * 127 + (b"%32d" % page)
    memory.madvise(21)
    sys.exit()
found = 0
for turn in range(4):
    for page in range(PAGES):
        if page % 3 != turn % 3:
            memory[page * 4096] = page % 255 + 1  # the rest of the page has to be zeroes
    memory.madvise(21)
    for page in range(PAGES):
        found += memory[page * 4096 + 1:page * 4096 + 4096].count(0) != 4095
    memory.madvise(21)
    swapped = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSwap"))
    open(os.environ["RESULTS"] + "/swapped", "a").write(swapped + " ")
print(found)
EOF
for turn in 1 2 3; do
  python3 /run/secret.py write & pid=$!; wait $pid
  python3 /run/secret.py look >> $RESULTS/found
done
"""


@pytest.mark.parametrize("swap", ["none", "file:64M"])
def test_slots_that_are_used_again_show_nothing_of_before(
    boot_guest: Boot, record_property: Callable[[str, object], None], swap: str
) -> None:
    """Slots, objects and blocks that had another process's data."""
    result = boot_guest(RECYCLED, swap=swap, mode="always", zswap=swap == "none", mem_bytes=200 * MIB)
    assert swap == "none" or result.device_slots_peak > 1000
    assert result.files["found"].split() == ["0"] * 3
    record_property(f"{tally.FIGURE}pages of recycled slots looked at", 3 * 4 * 4096)
    assert all(int(kb) > 4000 for kb in result.files["swapped"].split())


COUNTERS = """
python3 {program} --pages {pages} --seconds 8 --rounds 6 > $RESULTS/out.json; echo $? > $RESULTS/code
verify > $RESULTS/verify; settle
"""


@pytest.mark.parametrize("swap", ["none", "file:64M"])
def test_no_counter_leaves_its_range(
    boot_guest: Boot, record_property: Callable[[str, object], None], swap: str
) -> None:
    """Slots are taken on one CPU and freed on another: each has a counter that leaves the range of the sum.

    What a reader is shown never is: not below zero, that is near 2^64, and not more than there can be. What
    happens at the limits of the counters themselves is in the KUnit cases counters_wrap and group_counters.
    """
    pages = 900
    result = boot_guest(
        COUNTERS.format(program=Path(__file__).with_name("counters_in_guest.py"), pages=pages),
        swap=swap, mode="always", cpus=2, mem_bytes=256 * MIB,
    )  # fmt: skip
    seen = answer(result, "out.json")
    assert number(result, "code") == number(result, "verify") == 0 and seen["odd"] == []
    # The counters of each CPU went far out of the range of what is in use at a time.
    assert seen["vswap_alloc"] > 5 * pages and seen["reads"] > 50, seen
    for name in ("slots_used", "zero", "zswap", "physical", "cached", "refused"):
        assert seen["highest"][name] < pages + 500, (name, seen)
    assert seen["highest"]["slots_used"] > pages // 3, seen  # the reader came between
    assert seen["lowest"]["slots_max"] == seen["highest"]["slots_max"] <= (2**31 - 1) // 2
    assert seen["highest"]["metadata_bytes"] < 16 * MIB
    record_property(f"{tally.FIGURE}counters read while slots move between CPUs", seen["reads"])
    assert result.end.slots_used == 0
