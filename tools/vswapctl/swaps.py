# SPDX-License-Identifier: GPL-2.0
"""/proc/swaps: the active swap devices."""

import re
from typing import NamedTuple

from vswapctl.kernel import Kernel, as_number

DELETED = " (deleted)"  # what the kernel appends to the name of a file that is gone


class Device(NamedTuple):
    """A swap device; sizes in bytes. ``kind`` is "partition" or "file"."""

    name: str
    kind: str
    size: int
    used: int
    priority: int

    @property
    def free(self) -> int:
        """Bytes that are not in use."""
        return max(0, self.size - self.used)

    @property
    def is_zram(self) -> bool:
        """Compressed memory that poses as a disk."""
        return re.fullmatch(r"/dev/zram\d+", self.name) is not None


def deleted(kernel: Kernel, device: Device) -> bool:
    """Whether a file was removed while it was in use: no name is left by which swapoff could find it."""
    return device.kind == "file" and device.name.endswith(DELETED) and not kernel.exists(device.name)


def only_zram(active: list[Device]) -> bool:
    """Whether there is swap, and all of it is on zram."""
    return bool(active) and all(device.is_zram for device in active)


def _unescape(name: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), name)


def devices(kernel: Kernel) -> list[Device]:
    """All of them, the ones that are used first at the top. Malformed lines are left out."""
    found = []
    # A name may have what splitlines() takes for the end of a line.
    for line in (kernel.text("/proc/swaps") or "").split("\n")[1:]:
        words = line.rsplit(None, 4)
        numbers = [as_number(word) for word in words[2:]]
        if len(words) == 5 and None not in numbers:
            size, used, priority = (number or 0 for number in numbers)
            found.append(Device(_unescape(words[0].strip()), words[1], size * 1024, used * 1024, priority))
    return sorted(found, key=lambda device: -device.priority)


def in_fstab(kernel: Kernel) -> bool:
    """Whether a swap device that is no zram disk is to be there after the boot."""
    for line in kernel.lines("/etc/fstab"):
        words = line.split()
        if len(words) > 2 and words[2] == "swap" and not words[0].startswith(("#", "/dev/zram")):
            if "noauto" not in "".join(words[3:4]).split(","):
                return True
    return False
