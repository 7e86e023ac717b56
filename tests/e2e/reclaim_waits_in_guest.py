# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: how long kswapd, and whoever reclaims memory, waits while a command runs.

Arguments: the command. Prints, for kswapd and for reclaim on behalf of a task, the seconds in D state,
the longest of these waits, and how much of it was reclaim's own throttling, by its reason. Recorded by
the scheduler's own events: sampling from outside would miss most of it and take a CPU.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TRACING = Path("/sys/kernel/tracing")
KILOBYTES = 12_000  # of each CPU's buffer
SWITCH, WAKEUP, THROTTLED = "sched/sched_switch", "sched/sched_wakeup", "vmscan/mm_vmscan_throttled"
RECLAIM = [
    f"vmscan/mm_vmscan_{kind}_reclaim_{edge}" for kind in ("direct", "memcg") for edge in ("begin", "end")
]
_LINE = re.compile(r"-(\d+)\s+\[\d+\] .{4,6} +(\d+\.\d+): (\w+): (.*)")
_SWITCH = re.compile(r"prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> .*next_pid=(\d+)")
_WAKEUP = re.compile(r"pid=(\d+) prio=")
_THROTTLED = re.compile(r"usect?_delayed=(\d+) reason=(\S+)")


class Waits:
    """Of kswapd, or of reclaim by tasks."""

    def __init__(self) -> None:
        self.seconds = self.longest = 0.0
        self.count = 0
        self.throttled: dict[str, float] = {}

    def add(self, seconds: float) -> None:
        """One wait."""
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        self.count += 1

    def throttle(self, seconds: float, reason: str) -> None:
        """Part of the waits that was reclaim's own doing."""
        self.throttled[reason] = self.throttled.get(reason, 0.0) + seconds


def kswapds() -> set[int]:
    """Their process numbers."""
    found = set()
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().startswith("kswapd"):
                found.add(int(comm.parent.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def start() -> None:
    """Record what follows."""
    (TRACING / "tracing_on").write_text("0")
    (TRACING / "buffer_size_kb").write_text(str(KILOBYTES))
    (TRACING / "trace_clock").write_text("mono")
    (TRACING / "trace").write_text("")
    # That a task has to wait, and that one waits no more; the rest of sched_switch is of no interest.
    (TRACING / "events" / SWITCH / "filter").write_text("prev_state == 2")
    for event in (SWITCH, WAKEUP, THROTTLED, *RECLAIM):
        (TRACING / "events" / event / "enable").write_text("1")
    (TRACING / "tracing_on").write_text("1")


def lost() -> int:
    """Events that there was no room for."""
    stats = "".join(path.read_text() for path in TRACING.glob("per_cpu/cpu*/stats"))
    return sum(int(count) for count in re.findall(r"^(?:overrun|dropped events): (\d+)", stats, re.MULTILINE))


def waits(lines: Iterable[str], daemons: set[int]) -> tuple[int, Waits, Waits]:
    """(events that were understood, the waits of kswapd, those of tasks that reclaim)."""
    events = 0
    kswapd, tasks = Waits(), Waits()
    reclaiming: set[int] = set()
    since: dict[int, float] = {}
    for line in lines:
        if not (found := _LINE.search(line)):
            continue
        events += 1
        pid, stamp, event, text = int(found[1]), float(found[2]), found[3], found[4]
        if event == "sched_switch" and (switch := _SWITCH.search(text)):
            if int(switch[1]) in daemons or int(switch[1]) in reclaiming:
                since[int(switch[1])] = stamp
        elif event == "sched_wakeup" and (woken := _WAKEUP.search(text)):
            who = int(woken[1])
            if who in since:
                (kswapd if who in daemons else tasks).add(stamp - since.pop(who))
        elif event == "mm_vmscan_throttled" and (throttled := _THROTTLED.search(text)):
            (kswapd if pid in daemons else tasks).throttle(int(throttled[1]) / 1e6, throttled[2])
        elif event.endswith("_reclaim_begin"):
            reclaiming.add(pid)
        elif event.endswith("_reclaim_end"):
            reclaiming.discard(pid)
    return events, kswapd, tasks


def main() -> None:
    daemons = kswapds()
    start()
    begin = time.monotonic()
    code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False).returncode
    seconds = time.monotonic() - begin
    (TRACING / "tracing_on").write_text("0")
    with open(TRACING / "trace", encoding="utf-8", errors="replace") as trace:
        events, kswapd, tasks = waits(trace, daemons)
    report: dict[str, Any] = {"code": code, "seconds": seconds, "events": events, "lost_events": lost()}
    json.dump(report | {"kswapd": vars(kswapd), "tasks": vars(tasks)}, sys.stdout)


main()
