# SPDX-License-Identifier: GPL-2.0
"""What the two ways to run a guest have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vswaplab.errors import UsageError
from vswaplab.guest.spec import GuestSpec, Swap, parse_swap


@dataclass(frozen=True)
class Files:
    """The files of one guest on the host, all in one temporary directory ``dir``.

    ``result_fd`` is a file descriptor that the machine inherits: where its channel leads.
    """

    dir: Path
    init: Path
    result_fd: int

    @property
    def console(self) -> Path:
        """What the kernel prints goes here."""
        return self.dir / "console"

    @property
    def messages(self) -> Path:
        """What the emulator itself prints goes here, where that is apart from the console."""
        return self.dir / "messages"

    @property
    def disk(self) -> Path:
        """The swap disk, if there is one."""
        return self.dir / "disk"

    @property
    def scratch(self) -> Path:
        """The script's own disk, if there is one."""
        return self.dir / "scratch"


@dataclass(frozen=True)
class Launch:
    """A command to start, what to add to its environment, and whether its output is the console."""

    argv: list[str]
    env: Mapping[str, str]
    stdout_is_console: bool


class Machine(Protocol):
    """User-Mode Linux or QEMU."""

    channel: str  # device in the guest that leads to result_fd
    disk: str  # device in the guest that is the disk
    scratch: str  # and the one that is the script's own, where the guest has both
    numbered: bool  # disks are named in the order in which they are found, whatever they are
    restart: bool  # end by a reset, which ends the emulator

    def launch(self, spec: GuestSpec, files: Files) -> Launch:
        """The command that boots this guest."""
        ...


def scratch_device(machine: Machine, swap: Swap) -> str:
    """The device in the guest that is the script's own disk: without a swap disk it may be the first."""
    return machine.disk if machine.numbered and swap.kind != "file" else machine.scratch


def check_word(path: Path) -> str:
    """The path as one word of a kernel command line. Raises UsageError if it has white space."""
    text = str(path)
    if text.split() != [text]:
        raise UsageError(f"the path {text!r} has white space; choose others with TMPDIR and XDG_CACHE_HOME")
    return text


def common_cmdline(spec: GuestSpec, files: Files) -> list[str]:
    """The kernel parameters of every guest: read-only root, a panic ends it, everything is printed."""
    mode = [f"vswap={spec.mode}"] if spec.kernel.kernel == "vswap" else []
    swap = parse_swap(spec.swap)
    ram_disk = [f"brd.rd_size={swap.bytes >> 10}"] if swap.kind == "ram" else []
    return [
        "ro",
        f"init={check_word(files.init)}",
        f"guest_job={check_word(files.dir)}",
        "panic=-1",
        "loglevel=7",
        *mode,
        *ram_disk,
        *spec.extra_cmdline,
    ]
