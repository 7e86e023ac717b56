# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: lower the limit of zswap's pool, and see how fast the worker writes back.

Argument: the memory.reclaim of a group with pages that are still in memory; offering some to zswap
makes the worker start. Prints how many pages were written back, and in how many seconds: those in
which the worker ran, or another work item of zswap or virtual swap that may end what it started, by the
kernel's own trace. Looking from outside disturbs it, on two CPUs.
"""

import json
import re
import sys
import time
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
WORKERS = re.compile(r"shrink_worker$|_?zswap_|vswap_")
IDLE_SECONDS = 0.3  # without progress: it has ended
POLL_SECONDS = 0.05
# The first 160 runs of the worker only take away the second chance that every entry has.
TRIES = 20_000
_EVENT = re.compile(r" (\d+\.\d+): workqueue_execute_(start|end): .* function (\S+)")


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


def trace_workers() -> None:
    """Start to record when work items start and end; in these seconds there are few others."""
    (TRACING / "trace_clock").write_text("mono")
    for event in ("workqueue_execute_start", "workqueue_execute_end"):
        (TRACING / "events/workqueue" / event / "enable").write_text("1")


def seconds_of_workers() -> float:
    """For how long at least one of them ran."""
    (TRACING / "tracing_on").write_text("0")
    total, start, running = 0.0, 0.0, 0
    events = sorted((float(s), what) for s, what, name in _EVENT.findall((TRACING / "trace").read_text())
                    if WORKERS.match(name))  # fmt: skip
    for stamp, what in events:
        if what == "start":
            start = stamp if not running else start
            running += 1
        elif running:
            running -= 1
            total += 0.0 if running else stamp - start
    return total


def main() -> None:
    before, tries = written_back(), 0
    trace_workers()
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
    json.dump({"pages": last - before, "seconds": seconds_of_workers(), "tries": tries}, sys.stdout)


main()
