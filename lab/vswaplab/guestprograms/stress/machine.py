# SPDX-License-Identifier: GPL-2.0
"""CPUs and blocks of memory that go offline, and come back."""

import errno
from pathlib import Path

from vswaplab.guestprograms.stress.disturber import Disturber, write

_CPUS = Path("/sys/devices/system/cpu")
_MEMORY = Path("/sys/devices/system/memory")


class Cpus(Disturber):
    """All CPUs but the first."""

    pause = 0.5

    def _files(self) -> list[Path]:
        return sorted(_CPUS.glob("cpu[0-9]*/online"))

    def possible(self) -> bool:
        """Whether there is one that can go."""
        return bool(self._files())

    def step(self) -> None:
        """One goes or comes."""
        path = self.rng.choice(self._files())
        online = path.read_text().strip() == "1"
        self.count("cpu offline" if online else "cpu online", write(path, int(not online)))

    def undo(self) -> None:
        """All come back."""
        for path in self._files():
            if path.read_text().strip() == "0":
                write(path, 1)


class Memory(Disturber):
    """Blocks of the movable zone: what is in them moves, in the swap cache as well."""

    pause = 1.0

    def _blocks(self, state: str) -> list[Path]:
        """Blocks of the movable zone that are "online" or "offline"."""
        return [
            block
            for block in _MEMORY.glob("memory[0-9]*")
            if (block / "state").read_text().strip() == state and "Movable" in (block / "valid_zones").read_text()
        ]

    def possible(self) -> bool:
        """Whether there is a block that can go."""
        return _MEMORY.exists() and bool(self._blocks("online"))

    def step(self) -> None:
        """A block goes, and comes back at once: the workers need it."""
        if blocks := self._blocks("online"):
            state = self.rng.choice(blocks) / "state"
            self.count("memory offline", write(state, "offline", errno.EINVAL))  # of a block with a hole
        self.undo()

    def undo(self) -> None:
        """All come back."""
        for block in self._blocks("offline"):
            write(block / "state", "online_movable")
