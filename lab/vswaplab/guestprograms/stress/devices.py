# SPDX-License-Identifier: GPL-2.0
"""Swap devices that come, go and fail."""

import contextlib
import ctypes
import os
import random
from collections.abc import Sequence
from pathlib import Path

from vswaplab.guestprograms.stress.disturber import Disturber, write

SWAP_FLAG_PREFER, SWAP_FLAG_DISCARD = 0x8000, 0x10000
_libc = ctypes.CDLL(None, use_errno=True)


def devices() -> list[str]:
    """The devices in use."""
    return [line.split()[0] for line in Path("/proc/swaps").read_text().splitlines()[1:]]


def swapon(device: str, flags: int = 0) -> bool:
    """Whether the kernel takes it."""
    return bool(_libc.swapon(os.fsencode(device), flags) == 0)


def swapoff(device: str) -> bool:
    """Whether it went. It does not if there is no memory for what is on it."""
    return bool(_libc.swapoff(os.fsencode(device)) == 0)


class Swapoff(Disturber):
    """The device is removed, with what is on it, and added again, with another priority."""

    pause = 2.0

    def __init__(self, rng: random.Random, memory: int) -> None:
        super().__init__(rng, memory)
        self._devices = devices()

    def possible(self) -> bool:
        """Whether there is a device."""
        return bool(self._devices)

    def step(self) -> None:
        """Remove it or add it."""
        device = self.rng.choice(self._devices)
        if device in devices():
            self.count("swapoff", swapoff(device))
        else:
            flags = self.rng.choice((0, SWAP_FLAG_DISCARD, SWAP_FLAG_PREFER | 5))
            self.count("swapon", swapon(device, flags) or swapon(device))

    def undo(self) -> None:
        """Everything is added again."""
        for device in self._devices:
            if device not in devices():
                swapon(device)


class Injection(Disturber):
    """One of the kernel's points for fault injection; what it counts is the number of faults."""

    MANY = 1 << 30
    pause = 1.0
    name = ""
    directory = Path("/sys/kernel/debug")
    settings: dict[str, object] = {}
    percent: Sequence[int] = (0, 1, 5, 10, 30)

    def possible(self) -> bool:
        """Whether the kernel has it."""
        return self.directory.exists()

    def start(self) -> None:
        """Prepare it. The count that is left of "times" says how many faults there were."""
        for name, value in {"verbose": 0, "interval": 1, "times": self.MANY, **self.settings}.items():
            if (self.directory / name).exists():
                write(self.directory / name, value)

    def step(self) -> None:
        """Another probability, in percent; sometimes none, so that work goes on."""
        if not self.done:
            self.start()
        self.count("changes of the rate", write(self.directory / "probability", self.rng.choice(self.percent)))

    def undo(self) -> None:
        """No more faults; count those that were."""
        write(self.directory / "probability", 0)
        if self.done:
            self.done[f"{self.name} faults"] = self.MANY - int((self.directory / "times").read_text())


class AllocationsFail(Injection):
    """Allocations of the workers fail, of kswapd, and of what works for virtual swap in the background."""

    def _threads(self) -> list[Path]:
        """The directories of kswapd's threads, and of those whose present or last work is virtual swap's."""
        found = []
        for path in Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                name = path.read_text().strip()
                if name.startswith("kswapd") or (name.startswith("kworker/") and name.endswith("vswap")):
                    found.append(path.parent)
        return found

    def step(self) -> None:
        """Let the threads' allocations fail as well."""
        super().step()
        for thread in self._threads():
            write(thread / "make-it-fail", 1)

    def undo(self) -> None:
        """For nobody any longer."""
        super().undo()
        for thread in self._threads():
            write(thread / "make-it-fail", 0)


class SlabFails(AllocationsFail):
    """kmalloc() and caches fail."""

    name = "failslab"
    directory = Path("/sys/kernel/debug/failslab")
    settings = {"task-filter": "Y", "ignore-gfp-wait": "N"}


class PagesFail(AllocationsFail):
    """The page allocator fails, for zswap's pool and for the pages of user space as well."""

    name = "fail_page_alloc"
    directory = Path("/sys/kernel/debug/fail_page_alloc")
    settings = {"task-filter": "Y", "ignore-gfp-wait": "N", "ignore-gfp-highmem": "N", "min-order": 0}


class RequestsFail(Injection):
    """Reads and writes of the swap device fail. A read that fails costs the process its life."""

    name = "fail_make_request"
    directory = Path("/sys/kernel/debug/fail_make_request")
    percent = (0, 5, 20, 50)

    def start(self) -> None:
        """Requests of the devices only."""
        super().start()
        for device in devices():
            (Path("/sys/block") / Path(device).name / "make-it-fail").write_text("1")
