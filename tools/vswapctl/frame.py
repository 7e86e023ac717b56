# SPDX-License-Identifier: GPL-2.0
"""The screen of vswapctl top as lines of text; it fits what it is given, 80 columns by 24 lines or less."""

from collections import deque
from collections.abc import Iterable, Sequence

from vswapctl import statustext
from vswapctl.cgroups import Usage
from vswapctl.snapshot import Snapshot
from vswapctl.units import PAGE, pages, percent, printable, size

BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*%#"
GRAPHS = {
    "zswpout": "into zswap",
    "zswpin": "out of zswap",
    "zswpwb": "zswap to device",
    "pswpout": "to devices, all",
    "pswpin": "from devices",
}
KEPT = 240  # values of history: more than a wide terminal shows


class History:
    """The last rates of each event."""

    def __init__(self) -> None:
        self.values: dict[str, deque[float]] = {name: deque(maxlen=KEPT) for name in GRAPHS}

    def add(self, rates: dict[str, float]) -> None:
        """The rates of one more interval; an event that the kernel does not count is 0."""
        for name, values in self.values.items():
            values.append(rates.get(name, 0.0))


def sparkline(values: Iterable[float], width: int, marks: str = BLOCKS) -> str:
    """The last values as a row of bars, the highest of them full; nothing but blanks for zeroes."""
    last = list(values)[-width:] if width > 0 else []
    highest = max(last, default=0.0)
    if highest <= 0:
        return " " * width
    bars = [marks[min(len(marks) - 1, int(value / highest * len(marks)))] if value > 0 else " " for value in last]
    return "".join(bars).rjust(width)


def _figures(snap: Snapshot) -> list[str]:
    lines = [
        f"RAM     {size(snap.total)}, available {size(snap.available)} ({percent(snap.available, snap.total)})"
    ]
    slots, zswap = snap.slots, snap.zswap
    if slots:
        lines.append(
            f"slots   {pages(slots.used)}: zero {pages(slots.zero)}, zswap {pages(slots.zswap)}, "
            f"device {pages(slots.device)}, cached {pages(slots.cached)}"
        )
    if zswap:
        ratio = f", ratio {zswap.ratio:.2f}" if zswap.ratio else ""
        share = percent(zswap.pool, zswap.limit)
        lines.append(f"zswap   {size(zswap.stored)} in {size(zswap.pool)}{ratio}; {share} of {size(zswap.limit)}")
        refused = f"; refused {pages(slots.refused)}" if slots and slots.refused else ""
        lines.append(f"gained  {size(snap.gained)} of RAM{refused}")
    return lines


def _graphs(history: History, width: int, marks: str) -> list[str]:
    lines = []
    for name, what in GRAPHS.items():
        values = history.values[name]
        rate = size(values[-1] * PAGE) if values else "-"
        lines.append(f"{what:<16} {rate:>10}/s  {sparkline(values, max(8, width - 31), marks)}")
    return lines


def _devices(snap: Snapshot, most: int) -> list[str]:
    lines = [
        f"{printable(device.name)[:40]:<40} {size(device.used):>10} of {size(device.size):>10}"
        f" {percent(device.used, device.size):>6}"
        for device in snap.devices[:most]
    ]
    if len(snap.devices) > most:
        lines.append(f"and {len(snap.devices) - most} more devices")
    return lines or ["no swap devices"]


def _groups(usages: Sequence[Usage], width: int, rows: int) -> list[str]:
    if rows < 2:
        return []
    room = max(10, width - 24)
    lines = [f"{'group, without the groups in it':<{room}} {'on devices':>11} {'in zswap':>11}"]
    for usage in usages[: rows - 1]:
        name = printable(usage.group)
        name = name if len(name) <= room else "…" + name[1 - room :]
        lines.append(f"{name:<{room}} {size(usage.swap):>11} {size(usage.zswap):>11}")
    return lines if usages else ["no control group has anything swapped out, or there is no cgroup v2"]


def lines(
    snap: Snapshot, history: History, usages: Sequence[Usage], width: int, height: int, marks: str = BLOCKS
) -> list[str]:
    """At most ``height`` lines of at most ``width`` characters; the last says how to leave."""
    head = statustext.head(snap)
    title = f"{head[0].removesuffix('; what it offers:')}   {head[1]}"
    above = [title, *_figures(snap), "", *_graphs(history, width, marks), "", *_devices(snap, 3), ""]
    body = [*above, *_groups(usages, width, height - len(above) - 1)][: height - 1]
    body += [""] * (height - 1 - len(body))
    if marks is PLAIN:
        body = [line.replace("…", "~") for line in body]
    return [line[:width] for line in [*body, "q quits"]]
