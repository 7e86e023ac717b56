# SPDX-License-Identifier: GPL-2.0
"""Free every other page of what is on a swap device, then the rest; runs in a guest. Prints JSON.

What is free then lies between used slots at first, and is all in free clusters in the end.
"""

import json
import mmap
import os
import sys
import time
from pathlib import Path

PAGE = mmap.PAGESIZE
MADV_PAGEOUT = 21
PAGES = 8 << 20 >> 12
CONTIGUOUS = Path("/sys/kernel/mm/vswap/free_contiguous")


def state() -> dict[str, int]:
    """Slots of the device: free ones, and those of them in free clusters."""
    size, used = map(int, Path("/proc/swaps").read_text().splitlines()[1].split()[2:4])
    return {"free": (size - used) // 4, "contiguous": int(CONTIGUOUS.read_text())}


def main() -> None:
    """Fill, free half, check the other half, free all."""
    memory = mmap.mmap(-1, PAGES * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    contents = [os.urandom(PAGE) for _ in range(16)]
    seen = {"start": state()}
    for page in range(PAGES):
        memory[page * PAGE : (page + 1) * PAGE] = contents[page % 16]
    for _ in range(5):
        memory.madvise(MADV_PAGEOUT)
        time.sleep(0.05)
    seen["full"] = state()
    for page in range(0, PAGES, 2):
        memory.madvise(mmap.MADV_DONTNEED, page * PAGE, PAGE)
    seen["halved"] = state()
    bad = sum(memory[page * PAGE : (page + 1) * PAGE] != contents[page % 16] for page in range(1, PAGES, 2))
    memory.close()
    seen["end"] = state()
    seen["bad"] = {"pages": bad}
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
