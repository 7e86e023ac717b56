# SPDX-License-Identifier: GPL-2.0
"""Inputs that nobody should write: to the files of virtual swap and zswap, to groups, and as swap headers."""

import os
import random
import struct
from collections.abc import Callable
from pathlib import Path

from vswaplab.guestprograms.stress.devices import SWAP_FLAG_DISCARD, SWAP_FLAG_PREFER, swapoff, swapon
from vswaplab.guestprograms.stress.disturber import CGROUP, VSWAP, ZSWAP, Disturber, write

DISK = Path("/dev/ram0")
BOOT = Path("/sys/module/vswap/parameters")
PAGE = 4096
_WORDS = (b"auto", b"always", b"never", b"max", b"Y", b"N", b"0", b"-1", b"lzo", b"zstd", b"\n", b" ", b"\0")
_NUMBERS = (0, 1, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30)


class BadInputs(Disturber):
    """Many inputs in each step. Whether the kernel takes one is its business; it must live with it."""

    pause = 0.05
    group = CGROUP / "fuzzed"

    def __init__(self, rng: random.Random, memory: int) -> None:
        super().__init__(rng, memory)
        if (CGROUP / "cgroup.controllers").exists():
            self.group.mkdir(exist_ok=True)
        limits = ("swap.max", "swap.high", "zswap.max", "zswap.writeback")
        # What can only be set at boot has files that refuse everything; the kernel's unit tests call its parsers.
        files = [file for directory in (VSWAP, BOOT, ZSWAP) for file in directory.glob("*")]
        files += [self.group / f"memory.{name}" for name in limits]
        self._files = [path for path in files if path.exists()]
        self._before = {path: path.read_text() for path in files if path.exists() and path.parent == ZSWAP}
        self._kinds: list[Callable[[], bytes]] = [self._word, self._number, self._noise, self._long]

    def _word(self) -> bytes:
        return b"".join(self.rng.choices(_WORDS, k=self.rng.randrange(1, 4)))

    def _number(self) -> bytes:
        text = format(self.rng.choice(_NUMBERS) + self.rng.randrange(-2, 3), self.rng.choice(("d", "#x", "#o")))
        return text.encode() + self.rng.choice((b"", b"\n", b"K", b"G", b"%"))

    def _noise(self) -> bytes:
        return self.rng.randbytes(self.rng.randrange(1, 64))

    def _long(self) -> bytes:
        return self.rng.choice((b"A", b"9", b"\xff")) * self.rng.choice((255, 256, 4095, 4096, 4097, 70_000))

    def _write(self) -> None:
        path = self.rng.choice(self._files)
        taken = False
        try:
            descriptor = os.open(path, os.O_WRONLY)
        except OSError:  # only for reading
            pass
        else:
            try:
                taken = os.write(descriptor, self.rng.choice(self._kinds)()) >= 0
            except OSError:
                pass
            finally:
                os.close(descriptor)
        self.done["files, taken" if taken else "files, refused"] += 1

    def _header(self) -> bytes:
        """A header of "mkswap" with some of its fields spoilt."""
        rng = self.rng
        values = (0, 1, 2, PAGE, 1023, 1024, 2**31, 2**32 - 1, rng.getrandbits(32))
        bad = [rng.choice((rng.randrange(256), *values)) for _ in range(rng.choice((0, 0, 1, 100)))]
        fields = [1, rng.choice((255, *values)), rng.choice((len(bad), len(bad), *values))]
        if rng.random() < 0.5:
            fields[0] = rng.choice(values)
        page = bytearray(PAGE)
        struct.pack_into("<3I", page, 1024, *fields)
        struct.pack_into(f"<{len(bad)}I", page, 1024 + 12 + 16 + 16 + 117 * 4, *bad)
        page[-10:] = rng.choice((b"SWAPSPACE2",) * 6 + (b"SWAP-SPACE", rng.randbytes(10)))
        for _ in range(rng.choice((0, 0, 1, 8))):
            page[rng.randrange(1024, PAGE)] = rng.randrange(256)
        return bytes(page)

    def _swapon(self) -> None:
        with DISK.open("r+b", buffering=0) as disk:
            disk.write(self._header())
            os.fsync(disk.fileno())
        flags = (0, SWAP_FLAG_PREFER | self.rng.getrandbits(15), SWAP_FLAG_DISCARD, self.rng.getrandbits(32))
        taken = swapon(str(DISK), self.rng.choice(flags))
        if taken and not swapoff(str(DISK)):
            raise RuntimeError("a device that nobody uses cannot be removed")
        self.done["swap headers, taken" if taken else "swap headers, refused"] += 1

    def step(self) -> None:
        """Fifty inputs."""
        for _ in range(50):
            if DISK.exists() and self.rng.random() < 0.2:
                self._swapon()
            elif self._files:
                self._write()

    def undo(self) -> None:
        """Settings with which memory can be swapped and freed: a group at its swap.high sleeps for seconds."""
        if self.group.exists():
            for name in ("swap.max", "swap.high", "zswap.max"):
                write(self.group / f"memory.{name}", "max")
        for path, text in self._before.items():
            if os.access(path, os.W_OK) and path.stat().st_mode & 0o200:
                write(path, text.strip())
        write(VSWAP / "mode", "auto")
