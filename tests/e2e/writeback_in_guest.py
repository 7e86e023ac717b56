# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: lower the limit of zswap's pool, and see how fast the worker writes back.

Argument: the memory.reclaim of a group with pages that are still in memory; offering some to zswap
makes the worker start. Prints how many pages were written back, and in how many seconds: those in
which the worker ran, by the kernel's own trace. Looking from outside disturbs it, on two CPUs.
"""

import json
import re
import sys
import time
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
WORKER = "shrink_worker"
IDLE_SECONDS = 0.3  # without progress: it has ended
POLL_SECONDS = 0.05
# The first 160 runs of the worker only take away the second chance that every entry has.
TRIES = 20_000
_EVENT = re.compile(r" (\d+\.\d+): workqueue_execute_(start|end): ")


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


def trace_worker() -> None:
    """Start to record when the worker starts and ends."""
    symbols = (line.split() for line in Path("/proc/kallsyms").read_text().splitlines())
    address = next(words[0] for words in symbols if words[2] == WORKER)
    (TRACING / "trace_clock").write_text("mono")
    for event in ("workqueue_execute_start", "workqueue_execute_end"):
        (TRACING / "events/workqueue" / event / "filter").write_text(f"function == 0x{address}")
        (TRACING / "events/workqueue" / event / "enable").write_text("1")


def seconds_of_worker() -> float:
    """For how long it ran; it does not run twice at a time."""
    (TRACING / "tracing_on").write_text("0")
    total, start = 0.0, None
    for stamp, what in sorted((float(s), w) for s, w in _EVENT.findall((TRACING / "trace").read_text())):
        if what == "start":
            start = stamp
        elif start is not None:
            total, start = total + stamp - start, None
    return total


def main() -> None:
    before, tries = written_back(), 0
    trace_worker()
    Path("/sys/module/zswap/parameters/max_pool_percent").write_text("1")
    while written_back() == before and tries < TRIES:
        offer(sys.argv[1])
        tries += 1
        time.sleep(0.001)
    last, end = written_back(), time.monotonic()
    while time.monotonic() - end < IDLE_SECONDS:
        time.sleep(POLL_SECONDS)
        now = written_back()
        if now != last:
            last, end = now, time.monotonic()
    json.dump({"pages": last - before, "seconds": seconds_of_worker(), "tries": tries}, sys.stdout)


main()
