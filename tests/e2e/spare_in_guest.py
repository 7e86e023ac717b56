# SPDX-License-Identifier: GPL-2.0
"""Swap out page by page on chosen CPUs, so that each leaves spare slots; runs in a guest. Prints JSON.

A CPU takes slots of a device for the pages that it writes next. They are to count as free, to be used
by another CPU when the device has no others, and not to be in the way of swapoff.
"""

import argparse
import json
import mmap
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.e2e.swapped_pages import MADV_PAGEOUT, PAGE, address, anonymous, fill, holds, meminfo

MODE = Path("/sys/kernel/mm/vswap/mode")


def device() -> tuple[str, int, int]:
    """The first swap device, its pages, and those that are in use."""
    name, _, size, used, _ = Path("/proc/swaps").read_text().splitlines()[1].split()
    return name, int(size) * 1024 // PAGE, int(used) * 1024 // PAGE


def swap_free() -> int:
    """Free slots of all devices, by /proc/meminfo."""
    return meminfo("SwapFree") // PAGE


def out(memory: mmap.mmap, pages: range, cpu: int) -> int:
    """Have these pages written to the device by a CPU. Return: how many slots are in use then."""
    os.sched_setaffinity(0, {cpu})
    for _ in range(20):
        memory.madvise(MADV_PAGEOUT, pages.start * PAGE, len(pages) * PAGE)
        if resident(memory, pages) == 0:
            break
        time.sleep(0.02)
    return device()[2]


def resident(memory: mmap.mmap, pages: range) -> int:
    """How many of these pages the page table has, by /proc/PID/pagemap."""
    start = address(memory, pages.start).value or 0
    with open("/proc/self/pagemap", "rb") as file:
        file.seek(start // PAGE * 8)
        words = memoryview(file.read(len(pages) * 8)).cast("Q")
    return sum(word >> 63 for word in words)


def last_slot(then: str) -> dict[str, object]:
    """Both CPUs have spare slots; one of them fills the device, in a mode, to its last slot."""
    _, size, before = device()
    memory = anonymous(size + 64)
    fill(memory, range(size + 64))
    free = swap_free()
    seen: dict[str, object] = {"size": size, "before": before}
    seen["one_each"] = [out(memory, range(0, 1), 0) - before, out(memory, range(1, 2), 1) - before]
    seen["free"] = [free, swap_free()]
    MODE.write_text(then)
    out(memory, range(2, size + 64), 0)
    seen["full"] = device()[2]
    MODE.write_text("always")
    seen["intact"] = holds(memory, range(size + 64))
    return seen


def removed() -> dict[str, object]:
    """Both CPUs have spare slots, and the device is removed: also when nothing else is on it."""
    name = device()[0]
    memory = anonymous(64)
    fill(memory, range(64))
    codes = []
    for turn in range(20):
        for cpu in 0, 1:
            out(memory, range(cpu, cpu + 1), cpu)
        if turn % 2:
            fill(memory, range(2))  # reads them in, and their slots become free
            memory.madvise(mmap.MADV_DONTNEED, 0, 2 * PAGE)
            fill(memory, range(2))
        codes.append(subprocess.run(["swapoff", name]).returncode)
        codes.append(subprocess.run(["swapon", name]).returncode)
    return {"codes": codes, "intact": holds(memory, range(64))}


def race(seconds: float, removals: int, turns_of_each: int) -> dict[str, object]:
    """Both CPUs write and read on a device with little room, which is removed again and again.

    It goes on for some seconds, and until the device was removed often enough and each CPU has had its turns.
    """
    name, size, _ = device()
    end = time.monotonic() + seconds
    each = size // 2 + 16
    intact = [False, False]
    turns = [0, 0]
    enough = threading.Event()

    def work(cpu: int) -> None:
        os.sched_setaffinity(threading.get_native_id(), {cpu})
        memory = anonymous(each)
        good = True
        while not enough.is_set():
            turn = turns[cpu] * 7 + cpu * 100000
            fill(memory, range(each), turn)
            for _ in range(3):
                memory.madvise(MADV_PAGEOUT, 0, each * PAGE)
            good = good and holds(memory, range(each), turn)
            turns[cpu] += 1
        intact[cpu] = good

    threads = [threading.Thread(target=work, args=(cpu,)) for cpu in (0, 1)]
    for thread in threads:
        thread.start()
    codes: list[int] = []
    while time.monotonic() < end or len(codes) < 2 * removals or min(turns) < turns_of_each:
        if not all(thread.is_alive() for thread in threads):
            break
        codes.append(subprocess.run(["swapoff", name]).returncode)
        codes.append(subprocess.run(["swapon", name]).returncode)
        time.sleep(0.2)
    enough.set()
    for thread in threads:
        thread.join()
    return {"codes": codes, "turns": turns, "intact": intact}


def main() -> None:
    """One of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["last_slot", "removed", "race"])
    parser.add_argument("--then", choices=["always", "never"], default="always", help="mode in which it is filled")
    parser.add_argument("--seconds", type=float, default=8, help="how long the race takes at least")
    parser.add_argument("--removals", type=int, default=4, help="how often it removes the device at least")
    parser.add_argument("--turns", type=int, default=4, help="how often each CPU writes and reads at least")
    args = parser.parse_args()
    if args.what == "last_slot":
        seen = last_slot(args.then)
    else:
        seen = removed() if args.what == "removed" else race(args.seconds, args.removals, args.turns)
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
