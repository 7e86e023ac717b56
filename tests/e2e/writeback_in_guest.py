# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: lower the limit of zswap's pool, and see how fast the worker writes back.

Argument: the memory.reclaim of a group with pages that are still in memory; offering some to zswap
makes the worker start. Prints how many pages were written back, in how many seconds.
"""

import json
import sys
import time

IDLE_SECONDS = 0.3  # without progress: it has ended
POLL_SECONDS = 0.01
TRIES = 1000


def written_back() -> int:
    """Pages, since boot."""
    with open("/proc/vmstat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("zswpwb "))


def offer(path: str) -> None:
    """Have a megabyte of the group swapped out, as far as that is possible."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("1M")
    except OSError:
        pass


def main() -> None:
    before, tries = written_back(), 0
    with open("/sys/module/zswap/parameters/max_pool_percent", "w", encoding="ascii") as file:
        file.write("1")
    while written_back() == before and tries < TRIES:
        offer(sys.argv[1])
        tries += 1
    first = last = written_back()
    start = end = time.monotonic()
    while time.monotonic() - end < IDLE_SECONDS:
        time.sleep(POLL_SECONDS)
        now = written_back()
        if now != last:
            last, end = now, time.monotonic()
    json.dump({"pages": last - first, "seconds": end - start}, sys.stdout)


main()
