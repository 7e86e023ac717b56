# SPDX-License-Identifier: GPL-2.0
"""Control groups whose limits change, whose processes move, and which end."""

import contextlib
import random
from collections.abc import Sequence
from pathlib import Path

from vswaplab.guestprograms.stress.disturber import CGROUP, Disturber, write

WORKERS = tuple(CGROUP / f"workers{number}" for number in range(3))


def make() -> bool:
    """The groups of the workers. False without the memory controller."""
    controllers = CGROUP / "cgroup.controllers"
    if not controllers.exists() or "memory" not in controllers.read_text().split():
        return False
    write(CGROUP / "cgroup.subtree_control", "+memory")
    for group in WORKERS:
        group.mkdir(exist_ok=True)
    return True


class Limits(Disturber):
    """Limits of one of the workers' groups. None is so low that something has to be killed for it."""

    def possible(self) -> bool:
        """Whether there are the groups."""
        return WORKERS[0].exists()

    def _values(self) -> dict[str, Sequence[object]]:
        part = self.memory // 4
        sizes = ("max", f"{part}M", f"{part // 2}M", f"{part // 4}M")
        return {
            "memory.high": sizes,
            "memory.swap.high": sizes,
            "memory.low": (0, "4M"),
            "memory.zswap.max": ("max", "max", "1M", "8M"),
            "memory.zswap.writeback": (0, 1, 1),
        }

    def step(self) -> None:
        """Another value for one limit."""
        name, values = self.rng.choice(list(self._values().items()))
        self.count(name, write(self.rng.choice(WORKERS) / name, self.rng.choice(values)))

    def undo(self) -> None:
        """No limit."""
        for group in WORKERS:
            for name in ("memory.high", "memory.swap.high", "memory.zswap.max"):
                write(group / name, "max")


class Reclaim(Disturber):
    """User space asks a group to give back memory."""

    def possible(self) -> bool:
        """Whether there are the groups."""
        return WORKERS[0].exists()

    def step(self) -> None:
        """A few megabytes; less may be there."""
        amount = self.rng.choice((1, 4, 16))
        self.count("memory.reclaim", write(self.rng.choice(WORKERS) / "memory.reclaim", f"{amount}M"))


class Moves(Disturber):
    """Processes go from group to group; groups are made and removed, with what they have in swap."""

    def __init__(self, rng: random.Random, memory: int) -> None:
        super().__init__(rng, memory)
        self._number = 0
        self._extra: list[Path] = []

    def possible(self) -> bool:
        """Whether there are the groups."""
        return WORKERS[0].exists()

    def _processes(self) -> list[tuple[Path, str]]:
        groups = (*WORKERS, *self._extra)
        return [(group, pid) for group in groups for pid in (group / "cgroup.procs").read_text().split()]

    def _removed(self, group: Path) -> bool:
        """Move the processes out and remove the group."""
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                write(self.rng.choice(WORKERS) / "cgroup.procs", pid)
        try:
            group.rmdir()
        except OSError:  # a process was started in it meanwhile
            return False
        self._extra.remove(group)
        return True

    def step(self) -> None:
        """One of the three."""
        what = self.rng.random()
        if what < 0.3 and len(self._extra) < 4:
            self._number += 1
            group = CGROUP / f"extra{self._number}"
            group.mkdir()
            self._extra.append(group)
            self.count("group made", True)
        elif what < 0.5 and self._extra:
            self.count("group removed", self._removed(self.rng.choice(self._extra)))
        elif processes := self._processes():
            _, pid = self.rng.choice(processes)
            with contextlib.suppress(ProcessLookupError):
                target = self.rng.choice((*WORKERS, *self._extra))
                self.count("process moved", write(target / "cgroup.procs", pid))

    def undo(self) -> None:
        """No more groups."""
        for group in list(self._extra):
            self._removed(group)
