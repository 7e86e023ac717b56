# SPDX-License-Identifier: GPL-2.0
"""One control group: what it has where, and what limits that."""

from typing import Any, NamedTuple

from vswapctl import cgroups, rates
from vswapctl.cgroups import Hold, Limit
from vswapctl.kernel import Kernel
from vswapctl.snapshot import VSWAP, ZSWAP
from vswapctl.units import PAGE, pages, printable, size

# Sizes of memory.stat, and what they are.
SIZES = {
    "anon": "anonymous, in RAM",
    "shmem": "shared memory, in RAM",
    "swapcached": "in RAM and in swap",
    "zswapped": "in zswap",
    "zswap": "  which takes",
    "zswap_incomp": "  of it incompressible",
    "vswap_tables": "tables of slots",
    "vswap_refused": "refused, in RAM",
}
# Counts of memory.stat, in pages since the group was made: those events that a group has, too.
EVENTS = {name: rates.EVENTS[name] for name in ("zswpout", "zswpin", "zswpwb", "pswpout", "pswpin")}
CURRENT = ("memory.current", "memory.swap.current", "memory.zswap.current")
LIMITS = ("memory.high", "memory.max", "memory.swap.high", "memory.swap.max", "memory.zswap.max")


class Info(NamedTuple):
    """Sizes in bytes; ``holds`` are all limits of the group and those above it, the tightest first.

    ``virtual`` is False in mode never, too. ``keeps`` is the group whose memory.zswap.writeback of 0
    keeps pages off devices: of this limit the root group has one, too.
    """

    group: str
    virtual: bool
    zswap_on: bool
    stat: dict[str, int]
    current: dict[str, int | None]
    limits: dict[str, Limit]
    swap_events: dict[str, int]
    holds: list[Hold]
    keeps: str | None

    def tightest(self, file: str) -> Hold | None:
        """The limit of one kind that is reached first, of this group or one above."""
        return cgroups.tightest(self.holds, file)

    @property
    def direct(self) -> int:
        """Pages that went to a device and were not in zswap before."""
        return max(0, self.stat.get("pswpout", 0) - self.stat.get("zswpwb", 0))


def read(kernel: Kernel, top: str, group: str) -> Info:
    """Everything about a group; the root is ""."""
    at = f"{top}{group}"
    line = cgroups.lineage(kernel, top, group)
    line += [] if "/" in line else ["/"]
    return Info(
        group,
        kernel.exists(VSWAP) and kernel.word(f"{VSWAP}/mode") != "never",
        kernel.switch(f"{ZSWAP}/enabled"),
        kernel.table(f"{at}/memory.stat"),
        {name: kernel.number(f"{at}/{name}") for name in CURRENT},
        {name: kernel.limit(f"{at}/{name}") for name in LIMITS},
        kernel.table(f"{at}/memory.swap.events"),
        cgroups.holds(kernel, top, group),
        next((name for name in line if kernel.number(f"{top}{name}/memory.zswap.writeback") == 0), None),
    )


def remarks(info: Info) -> list[str]:
    """What follows from the limits."""
    found = []
    swap, zswap = info.tightest("memory.swap.max"), info.tightest("memory.zswap.max")
    if swap and swap.limit == 0:
        found.append(_not_swapped(info, swap))
    elif swap and swap.left == 0:
        more = "no more goes to devices" if info.virtual else "no more is swapped, not to zswap either"
        found.append(f"{swap.group} has reached its memory.swap.max: {more}")
    if zswap and zswap.limit == 0:
        found.append(f"memory.zswap.max of {zswap.group} is 0: nothing goes to zswap")
    elif zswap and zswap.left == 0:
        found.append(f"{zswap.group} has reached its memory.zswap.max: zswap takes no more before some leaves")
    if info.keeps:
        found.append(
            f"memory.zswap.writeback of {info.keeps} is 0: while zswap is on nothing goes to a device, "
            "and what zswap does not take stays in RAM"
        )
    if info.stat.get("vswap_refused"):
        found.append("what is refused does not compress and may not go to a device: it stays in RAM")
    return [printable(text) for text in found]


def _not_swapped(info: Info, swap: Hold) -> str:
    """What a memory.swap.max of 0 means depends on whether the group's memory.zswap.max is a limit."""
    zswap = info.tightest("memory.zswap.max")
    if not info.virtual:
        return f"memory.swap.max of {swap.group} is 0: nothing of it is swapped, not to zswap either"
    if zswap and zswap.limit == 0:  # which has a remark of its own
        return f"memory.swap.max of {swap.group} is 0: it is not swapped"
    allowed = {hold.group for hold in info.holds if hold.file == "memory.zswap.max" and hold.limit}
    closed = [hold.group for hold in info.holds if hold.file == "memory.swap.max" and not hold.limit]
    if not (kept := [group for group in closed if group not in allowed]):
        instead = "zswap may be used, and no device" if info.zswap_on else "it is not swapped while zswap is off"
        return f"memory.swap.max of {swap.group} is 0: {instead}"
    return (
        f"memory.swap.max of {kept[0]} is 0: it is not swapped; a limit in its memory.zswap.max would allow zswap"
    )


def _limit(value: Limit) -> str:
    return value if isinstance(value, str) else size(value)


def text(info: Info) -> list[str]:
    """For people."""
    lines = [f"group {printable(info.group) or '/'}"]
    lines += [f"  {name:<24} {size(value):>10}" for name, value in info.current.items() if value is not None]
    lines += [f"  {what:<24} {size(info.stat[name]):>10}" for name, what in SIZES.items() if name in info.stat]
    shown = [name for name in EVENTS if info.stat.get(name)]
    if shown:
        lines += ["since it was made"]
        lines += [f"  {EVENTS[name]:<24} {pages(info.stat[name]):>10}" for name in shown]
    if any(value is not None for value in info.limits.values()):
        lines += ["its own limits"]
        lines += [f"  {name:<24} {_limit(value):>10}" for name, value in info.limits.items() if value is not None]
    if any(info.swap_events.values()):
        lines.append("  events: " + ", ".join(f"{name} {count}" for name, count in info.swap_events.items()))
    lines += ["limits that hold, the tightest first" if info.holds else "no limit holds, here or above"]
    for hold in info.holds:
        lines.append(
            f"  {hold.file:<18} {size(hold.limit):>10}, left {size(hold.left):>10}  {printable(hold.group)}"
        )
    return lines + [f"note: {remark}" for remark in remarks(info)]


def facts(info: Info) -> dict[str, Any]:
    """For programs; sizes in bytes, events in pages."""
    return {
        "group": info.group or "/",
        "current": info.current,
        "stat_bytes": {name: info.stat[name] for name in SIZES if name in info.stat},
        "pages": {name: info.stat[name] for name in EVENTS if name in info.stat},
        "page_bytes": PAGE,
        "limits": info.limits,
        "swap_events": info.swap_events,
        "holds": [{**hold._asdict(), "left": hold.left} for hold in info.holds],
        "writeback_off_by": info.keeps,
        "notes": remarks(info),
    }
