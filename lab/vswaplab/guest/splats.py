# SPDX-License-Identifier: GPL-2.0
"""Finds the kernel's complaints in a console log.

An OOM kill is not a complaint: a machine without room has to do it. It is found apart. So are data races in
which virtual swap has no part.
"""

import re
from collections import Counter
from collections.abc import Collection

from vswaplab.guest import races

MAX_SPLATS = 50
QUOTED_LINES = 45  # of the console, per complaint: enough for what lockdep and KASAN begin with

# "[    1.234567] ", and with CONFIG_PRINTK_CALLER "[    1.234567][   T12] ".
STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?")

# Matched at the start of a line whose time stamp is removed.
_AT_START = (
    r"WARNING: ",  # WARN(), and lockdep's reports
    r"BUG[: ]",  # KASAN, KCSAN, KFENCE, SLUB, sleeping while atomic, workqueue lockup, ...
    r"\[ BUG: ",  # lockdep
    r"kernel BUG at ",
    r"Oops[: ]",
    r"Internal error: ",
    r"(?:general protection fault|double fault|divide error|invalid opcode|stack segment)\b",
    r"UBSAN: ",
    r"Kernel panic - not syncing",
    r"INFO: task \S+ (?:blocked|is blocked)",
    r"INFO: possible ",
    r"INFO: trying to register non-static key",
    r"INFO: lockdep is turned off",
    r"(?:list_add|list_del) corruption",
    r"DEBUG_LOCKS_WARN_ON",
    r"page dumped because: ",
    r"(?:Read|Write)-error on swap-device",
    r"\*\*\* DEADLOCK \*\*\*",
    r"Object 0x[0-9a-f]+ .*(?:Poison|Redzone|Padding) ",
    r"Kernel mode (?:fault|signal) ",
)
# Matched anywhere in a line.
_ANYWHERE = (
    r"possible (?:circular|recursive) locking",
    r"possible irq lock inversion",
    r"inconsistent lock state",
    r"suspicious RCU usage",
    r"Invalid wait context",
    r"bad unlock balance detected",
    r"held lock freed!",
    r"turning off the locking correctness validator",
    r"sleeping function called from invalid context",
    r"scheduling while atomic",
    r"(?:soft|hard|workqueue) lockup",
    r"blocked for more than \d+ seconds",
    r"rcu_\w+ (?:self-)?detected (?:expedited )?stalls?",
    r"rcu_\w+ kthread (?:timer wakeup didn't happen|starved) for",
    r"unable to handle (?:kernel|page fault)",
    r"stack guard page was hit",
    r"page allocation failure: order:",
    r"Bad page (?:state|map|cache)",
    r"Bad rss-counter state",
    r"Bad swap (?:file|offset) entry",
    r"Unused swap (?:file|offset) entry",
    r"refcount_t: ",
    r"kmemleak: \d+ new suspected memory leaks?",
    r"VM_(?:BUG|WARN)_ON",
)
_START = re.compile("|".join(_AT_START))
_WITHIN = re.compile("|".join(_ANYWHERE))
_ALLOCATION = re.compile(r"(.*?): page allocation failure: order:0, mode:\S*GFP_HIGHUSER_MOVABLE")
_UNSURE = re.compile(r" *(?:\[<\w+>\] )?\? \S+\+0x")
_PANIC = re.compile(r"Kernel panic - not syncing")
_RESTART = "reboot: machine restart"
_STOPPED = re.compile(r"sched: Unexpected reschedule of offline CPU#\d+!")
_OOM = re.compile(r"(?:^|\W)(?:Out of|Memory cgroup out of) memory[^:]*: Killed process \d+ \((.*?)\) total-vm:")


def without_stamp(line: str) -> str:
    """The line of a console log without its time stamp."""
    return STAMP.sub("", line, count=1)


def _lines(console: str) -> list[str]:
    return [without_stamp(line).rstrip() for line in console.splitlines()]


def find(console: str) -> list[str]:
    """The first line of every complaint, each once, at most MAX_SPLATS.

    A victim of the OOM killer says once more, on its way out, that it got no page: that belongs
    to the kill. With PREEMPT_RT kernel threads still run while the machine restarts, and wake those of
    processors that are stopped: that is mainline's, and said when all is over.
    """
    victims = set(oom_kills(console))
    lines = _lines(console)
    reports = races.find(lines)
    restart = lines.index(_RESTART) if _RESTART in lines else len(lines)
    found: dict[str, None] = {}
    for number, text in enumerate(lines):
        if (failed := _ALLOCATION.match(text)) and failed[1] in victims:
            continue
        if number in reports and not reports[number].ours:
            continue
        if number > restart and _STOPPED.match(lines[number - 1]):
            continue
        if _START.match(text) or _WITHIN.search(text):
            found[text.strip()] = None
            if len(found) == MAX_SPLATS:
                break
    return list(found)


def excerpts(console: str, complaints: Collection[str]) -> str:
    """The console from each of the complaints that find() has found on, for the message of a failed test.

    Complaints that differ in their numbers only are quoted once; frames of which the kernel is not sure are
    left out.
    """
    if not complaints:
        return ""
    lines = [text for text in _lines(console) if not _UNSURE.match(text)]
    seen: set[str] = set()
    wanted: set[int] = set()
    for number, text in enumerate(lines):
        kind = re.sub(r"\d+", "", text.strip())
        if text.strip() in complaints and kind not in seen:
            seen.add(kind)
            wanted.update(range(number, min(number + QUOTED_LINES, len(lines))))
    parts = [("" if number - 1 in wanted else "...\n") + lines[number] for number in sorted(wanted)]
    return "\n".join(parts)


def other_races(console: str) -> dict[str, int]:
    """The data races in which virtual swap has no part, and how often each was reported."""
    return dict(Counter(race.title for race in races.find(_lines(console)).values() if not race.ours))


def panicked(console: str) -> bool:
    """Whether the kernel ended by a panic."""
    return any(_PANIC.match(without_stamp(line)) for line in console.splitlines())


def oom_kills(console: str) -> list[str]:
    """The names of the processes that the OOM killer ended, in order."""
    return [match[1] for line in console.splitlines() if (match := _OOM.search(without_stamp(line)))]


def find_leaks(report: str) -> list[str]:
    """One line per leak in the text of /sys/kernel/debug/kmemleak: what, and who allocated it."""
    leaks = []
    for part in re.split(r"^(?=unreferenced object)", report, flags=re.MULTILINE):
        if not part.startswith("unreferenced object"):
            continue
        head = part.splitlines()[0].rstrip(":")
        _, _, trace = part.partition("backtrace")
        frames = re.findall(r"([A-Za-z_][\w.]*)\+0x", trace)
        comm = re.search(r'comm "(.*)", pid', part)
        place = " < ".join(frames[:5]) or f"an unknown place by {comm[1] if comm else 'nobody'}"
        leaks.append(f"kmemleak: {head}, allocated in {place}")
    return leaks
