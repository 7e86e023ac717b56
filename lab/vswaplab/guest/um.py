# SPDX-License-Identifier: GPL-2.0
"""User-Mode Linux: the kernel is a program of the host."""

import os
import tempfile
from pathlib import Path

from vswaplab.guest.machine import Files, Launch, check_word, common_cmdline
from vswaplab.guest.spec import GuestSpec

SHARED_MEMORY = Path("/dev/shm")
ROOM = 64 << 20  # bytes to leave free there


def ram_directory(mem_bytes: int, shared: Path = SHARED_MEMORY) -> Path:
    """Where the (unlinked) file that is the guest's RAM goes: in memory if there is room."""
    if shared.is_dir() and os.access(shared, os.W_OK):
        space = os.statvfs(shared)
        if space.f_bavail * space.f_frsize >= mem_bytes + ROOM:
            return shared
    return Path(tempfile.gettempdir())


class UserModeLinux:
    """Two CPUs need the seccomp mode; the root is the host's, by hostfs."""

    channel = "/dev/ttyS0"
    disk = "/dev/ubdb"
    scratch = "/dev/ubdc"
    numbered = False
    restart = False

    def launch(self, spec: GuestSpec, files: Files) -> Launch:
        """The kernel's own command line. Its consoles are descriptors, never a terminal."""
        argv = [
            str(spec.kernel.image),
            f"mem={spec.mem_bytes >> 10}K",
            "seccomp=on",
            "noreboot",  # a guest that reboots has ended
            f"ncpus={spec.cpus_used}",
            f"uml_dir={check_word(files.dir)}",
            "umid=guest",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "console=tty0",
            "con=null",
            "con0=null,fd:1",
            f"ssl0=null,fd:{files.result_fd}",
            *([f"ubd1={check_word(files.disk)}"] if files.disk.exists() else []),
            *([f"ubd2={check_word(files.scratch)}"] if files.scratch.exists() else []),
            *common_cmdline(spec, files),
        ]
        return Launch(argv, {"TMPDIR": str(ram_directory(spec.mem_bytes))}, stdout_is_console=True)
