# SPDX-License-Identifier: GPL-2.0
"""Control groups, version 2: where they are, what they use, which limits hold."""

import os
from typing import NamedTuple

from vswapctl.kernel import Kernel

Limit = int | str | None  # bytes, "max", or not there
# Anybody may nest groups of his own; below that depth they are part of the group above.
MOST_DEPTH = 64


def mount_point(kernel: Kernel) -> str | None:
    """Where the hierarchy with the memory controller is; None if that is version 1, or nowhere."""
    points = [
        words[1]
        for words in (line.split() for line in kernel.lines("/proc/self/mounts"))
        if len(words) > 2 and words[2] == "cgroup2"
    ]
    for point in points or ["/sys/fs/cgroup"]:
        if "memory" in (kernel.text(f"{point}/cgroup.controllers") or "").split():
            return point
    return None


class Usage(NamedTuple):
    """What a group uses; bytes. ``swap`` is space on devices."""

    group: str
    swap: int
    zswap: int

    @property
    def both(self) -> int:
        """For sorting."""
        return self.swap + self.zswap


def _inner(kernel: Kernel, top: str, group: str) -> list[str]:
    return kernel.directories(f"{top}{group}") if group.count("/") < MOST_DEPTH else []


def _walk(kernel: Kernel, top: str, group: str, found: list[Usage]) -> Usage:
    swap = kernel.number(f"{top}{group}/memory.swap.current") or 0
    zswap = kernel.number(f"{top}{group}/memory.zswap.current") or 0
    inner_swap = inner_zswap = 0
    for name in _inner(kernel, top, group):
        inner = _walk(kernel, top, f"{group}/{name}", found)
        inner_swap += inner.swap
        inner_zswap += inner.zswap
    own = Usage(group, max(0, swap - inner_swap), max(0, zswap - inner_zswap))
    if own.both and (group or limited(kernel, top)):
        found.append(own._replace(group=group or "/"))
    return Usage(group, swap, zswap)


def usages(kernel: Kernel, top: str) -> list[Usage]:
    """What each group itself uses, without the groups in it; the largest first."""
    found: list[Usage] = []
    _walk(kernel, top, "", found)
    return sorted(found, key=lambda usage: (-usage.both, usage.group))


def groups(kernel: Kernel, top: str, group: str = "") -> list[str]:
    """All groups below one, parents before children."""
    found = []
    for name in _inner(kernel, top, group):
        inner = f"{group}/{name}"
        found += [inner, *groups(kernel, top, inner)]
    return found


def of_process(kernel: Kernel, pid: int) -> str | None:
    """The group of a process, as /proc/PID/cgroup says; "" for the root."""
    # A name may have what splitlines() takes for the end of a line.
    for line in (kernel.text(f"/proc/{pid}/cgroup") or "").split("\n"):
        if line.startswith("0::/"):
            return line[3:].removesuffix(" (deleted)").rstrip("/")
    return None


def limited(kernel: Kernel, top: str) -> bool:
    """Whether the uppermost group that is seen has limits: in a container it is not the root."""
    return kernel.exists(f"{top}/memory.max")


def charged(kernel: Kernel, top: str, group: str) -> str:
    """The group that pays for what is in a group: itself, or the closest above with the memory controller."""
    while group and kernel.exists(f"{top}{group}") and not kernel.exists(f"{top}{group}/memory.stat"):
        group = group.rpartition("/")[0]
    return group


def lineage(kernel: Kernel, top: str, group: str) -> list[str]:
    """The group and all above it, the root without limits left out."""
    parts = [part for part in group.split("/") if part]
    least = 0 if limited(kernel, top) else 1
    return ["/" + "/".join(parts[:count]) for count in range(len(parts), least - 1, -1)]


def normal(top: str, path: str) -> str:
    """The group that a user means by a path: below the mount point, or as in /proc/PID/cgroup."""
    plain = os.path.normpath("/" + path).replace("//", "/")
    if plain == top or plain.startswith(top + "/"):
        plain = plain[len(top) :]
    return plain.rstrip("/")


class Hold(NamedTuple):
    """A limit: of which group, which file, how much of it is left; bytes."""

    group: str
    file: str
    limit: int
    current: int

    @property
    def left(self) -> int:
        """Bytes, 0 for a limit that is reached."""
        return max(0, self.limit - self.current)


PAIRS = (
    ("memory.swap.max", "memory.swap.current"),
    ("memory.swap.high", "memory.swap.current"),
    ("memory.zswap.max", "memory.zswap.current"),
    ("memory.high", "memory.current"),
    ("memory.max", "memory.current"),
)


def holds(kernel: Kernel, top: str, group: str) -> list[Hold]:
    """All limits that hold for a group, its own and those of groups above, the tightest first.

    Of those that are reached, the lowest: a limit of 0 means more than that there is none left.
    """
    found = []
    for member in lineage(kernel, top, group):
        for file, current in PAIRS:
            limit = kernel.limit(f"{top}{member}/{file}")
            if isinstance(limit, int):
                found.append(Hold(member, file, limit, kernel.number(f"{top}{member}/{current}") or 0))
    return sorted(found, key=lambda hold: (hold.left, hold.limit))


def tightest(found: list[Hold], file: str) -> Hold | None:
    """Of the limits of one kind, the one that is reached first."""
    return next((hold for hold in found if hold.file == file), None)
