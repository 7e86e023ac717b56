# SPDX-License-Identifier: GPL-2.0
"""Swap out, read most of it again, and take the device away; runs in a guest. Prints JSON.

Pages that were only read are in memory, and the device keeps its copies: to take it away nothing has to be
moved for these.
"""

import argparse
import contextlib
import json
import mmap
import random
import subprocess
import sys
from pathlib import Path

from tests.e2e.swapped_pages import PAGE, anonymous, content, meminfo, page_out

BATCH = 128  # VSWAP_EVACUATE_BATCH
OUT = 5  # of these, that are not read again


def empty_swap_cache() -> None:
    """What has been written stays there until it is reclaimed."""
    for _ in range(20):
        if (cached := meminfo("SwapCached")) < 1 << 20:
            return
        with contextlib.suppress(OSError):  # less than asked for
            Path("/sys/fs/cgroup/memory.reclaim").write_text(f"{cached} swappiness=max")
    raise TimeoutError(f"{cached >> 20} MiB stay in the swap cache")


def expected(page: int) -> bytes:
    """One page in a batch is random, and is none that is read again."""
    return random.Random(page).randbytes(PAGE) if page % BATCH == OUT - 1 else content(page)


def good(memory: mmap.mmap, page: int) -> bool:
    """Whether it is what was written."""
    return memory[page * PAGE : (page + 1) * PAGE] == expected(page)


def fill_memory(left: int) -> mmap.mmap:
    """Take and lock memory until so many bytes are available."""
    libc_flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2000 | 0x8000  # MAP_LOCKED, MAP_POPULATE
    return mmap.mmap(-1, max(PAGE, (meminfo("MemAvailable") - left) // PAGE * PAGE), flags=libc_flags)


def main() -> None:
    """All on the device, some of it read, and swapoff; memory is short then, and zswap on, unless all was read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="swap out most of what is available, read it again")
    options = parser.parse_args()
    # Pages that are not to be read again are not read ahead, either.
    Path("/proc/sys/vm/page-cluster").write_text("0")
    pages = meminfo("MemAvailable") * 62 // 100 // PAGE if options.all else 64 << 20 >> 12
    memory = anonymous(pages)
    for page in range(pages):
        memory[page * PAGE : (page + 1) * PAGE] = expected(page)
    page_out(memory, pages * PAGE)
    empty_swap_cache()
    again = [page for page in range(pages) if options.all or page % BATCH >= OUT]
    intact = all(good(memory, page) for page in again)
    if not options.all:
        Path("/sys/module/zswap/parameters/enabled").write_text("Y")
        hog = fill_memory(meminfo("MemTotal") // 28)
    name, _, _, used, _ = Path("/proc/swaps").read_text().splitlines()[1].split()
    found = {"used": int(used) * 1024, "available": meminfo("MemAvailable"), "total": meminfo("MemTotal")}
    code = subprocess.run(["swapoff", name]).returncode
    if not options.all:
        hog.close()
    intact = intact and all(good(memory, page) for page in range(pages))
    json.dump(found | {"pages": pages, "code": code, "intact": intact}, sys.stdout)


if __name__ == "__main__":
    main()
