# SPDX-License-Identifier: GPL-2.0
"""Takes slots on one CPU and frees them on another, again and again, while the counters are read. Prints JSON.

Each round adds to the counters of the first CPU what it takes away from those of the second: what one of
them holds grows without bound, and is below zero on the other. The sums must never show it.
"""

import argparse
import json
import mmap
import os
import random
import sys
import time
from pathlib import Path

PAGE = mmap.PAGESIZE
MADV_PAGEOUT = 21
STATE = Path("/sys/kernel/mm/vswap")
SLOTS = ("slots_used", "zero", "zswap", "physical", "cached", "refused")


def events() -> dict[str, int]:
    """Virtual slots that were taken and freed since the machine has started."""
    pairs = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return {name: int(value) for name, value in pairs if name in ("vswap_alloc", "vswap_free")}


def read_until(stop: mmap.mmap, names: list[str]) -> dict[str, object]:
    """The smallest and the largest value of each file, and what was no unsigned number."""
    lowest: dict[str, int] = {}
    highest: dict[str, int] = {}
    odd, reads = [], 0
    while not stop[0]:
        for name in names:
            text = (STATE / name).read_text().strip()
            if not text.isdigit():
                odd.append(f"{name}: {text}")
                continue
            value = int(text)
            lowest[name] = min(lowest.get(name, value), value)
            highest[name] = max(highest.get(name, value), value)
        reads += 1
    return {"lowest": lowest, "highest": highest, "odd": odd, "reads": reads}


def main() -> None:
    """Rounds of both, and a reader beside them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True, help="go on for this long at least")
    parser.add_argument("--rounds", type=int, required=True, help="and for this many rounds at least")
    args = parser.parse_args()
    stop = mmap.mmap(-1, PAGE)
    result, tell = os.pipe()
    if not os.fork():
        names = [*SLOTS, "slots_max", "metadata_bytes"]
        os.write(tell, json.dumps(read_until(stop, names)).encode())
        os._exit(0)

    memory = mmap.mmap(-1, args.pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    noise = random.Random(1).randbytes(PAGE)
    # A third each: zeroes, what compresses, what does not and is refused or written to a device.
    kinds = [bytes(PAGE), b"compresses well " * (PAGE // 16), noise]
    rounds, before, end = 0, events(), time.monotonic() + args.seconds
    while time.monotonic() < end or rounds < args.rounds:
        os.sched_setaffinity(0, {0})
        for page in range(args.pages):
            memory[page * PAGE : (page + 1) * PAGE] = kinds[page % 3]
        memory.madvise(MADV_PAGEOUT)
        os.sched_setaffinity(0, {1})
        memory.madvise(mmap.MADV_DONTNEED)
        rounds += 1
    stop[0] = 1
    after = events()
    moved = {name: after[name] - before[name] for name in after}
    read = json.loads(os.read(result, 1 << 16))
    os.wait()
    json.dump({"rounds": rounds, **moved, **read}, sys.stdout)


if __name__ == "__main__":
    main()
