# SPDX-License-Identifier: GPL-2.0
"""What all disturbers have in common: one thing that changes again and again beside the workers."""

import errno
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
VSWAP = Path("/sys/kernel/mm/vswap")
ZSWAP = Path("/sys/module/zswap/parameters")
VM = Path("/proc/sys/vm")
THP = Path("/sys/kernel/mm/transparent_hugepage")

# What the kernel may say to a request that comes at a bad moment. All others are errors of the trial.
_NOT_NOW = {errno.EBUSY, errno.EAGAIN, errno.EINTR, errno.ENOMEM, errno.ENODEV, errno.ENOENT}


def write(path: Path, value: object, *refusals: int) -> bool:
    """Write a value into a file of the kernel's. False if the kernel says "not now", or one of ``refusals``."""
    try:
        path.write_text(f"{value}\n")
    except OSError as error:
        if error.errno not in _NOT_NOW and error.errno not in refusals:
            raise
        return False
    return True


class Disturber:
    """A subclass changes something in step(), which may block: each disturber has a thread of its own.

    ``pause`` is the mean time in seconds between two steps; ``done`` counts what was done, by name;
    ``mismatches`` are pages with wrong content that processes of its own found.
    """

    pause = 0.2

    def __init__(self, rng: random.Random, memory: int) -> None:
        """``memory`` is the guest's, in MB. Nobody else uses ``rng``."""
        self.rng = rng
        self.memory = memory
        self.done: Counter[str] = Counter()
        self.mismatches = 0

    def possible(self) -> bool:
        """Whether this kernel and machine have what it changes."""
        return True

    def step(self) -> None:
        """Change it."""
        raise NotImplementedError

    def undo(self) -> None:
        """Leave it so that what the guest has in swap can be counted, and is freed."""

    def count(self, name: str, happened: bool) -> None:
        """Count something that was tried."""
        self.done[name if happened else f"{name}, refused"] += 1


class Knob(Disturber):
    """A file that takes one of some values."""

    path: Path
    values: Sequence[object] = ()
    last: object = None
    name = ""

    def possible(self) -> bool:
        """Whether there is such a file."""
        return self.path.exists()

    def step(self) -> None:
        """Write one of the values."""
        self.count(self.name, write(self.path, self.rng.choice(self.values)))

    def undo(self) -> None:
        """Write the last value."""
        write(self.path, self.last)


def knob(path: Path, values: Sequence[object], last: object, name: str = "") -> type[Knob]:
    """A disturber for a file; ``name`` is what it counts, by default the file's."""
    fields = {"path": path, "values": values, "last": last, "name": name or path.name}
    return type(f"Knob {fields['name']}", (Knob,), fields)
