# SPDX-License-Identifier: GPL-2.0
"""Is there room elsewhere for what a swap device holds?"""

from typing import NamedTuple

from vswapctl.snapshot import Snapshot
from vswapctl.swaps import Device

# What the kernel itself assumes that zswap's pool holds, when nothing is in it to go by.
GUESSED_RATIO = 2.0


class Room(NamedTuple):
    """Bytes of data: on other devices, in zswap, in RAM as it is."""

    devices: int
    zswap: int
    ram: int

    @property
    def all(self) -> int:
        """Together."""
        return self.devices + self.zswap + self.ram


def _zram(snap: Snapshot, device: Device, available: int) -> tuple[int, int]:
    """What other zram disks have room for, as far as RAM is available for it; and how much of that RAM."""
    data = memory = 0
    for other in snap.devices:
        if other.is_zram and other.name != device.name:
            disk = next((disk for disk in snap.zram if f"/dev/{disk.name}" == other.name), None)
            known = disk.ratio if disk else None
            ratio = GUESSED_RATIO if known is None else max(1.0, known)
            more = min(other.free, int((available - memory) * ratio))
            data, memory = data + more, memory + int(more / ratio)
    return data, memory


def room(snap: Snapshot, device: Device) -> Room:
    """Where the data of a device could go.

    Only with virtual slots does it go to zswap without needing space on another device.
    """
    others = sum(other.free for other in snap.devices if other.name != device.name and not other.is_zram)
    # A zram disk gives its memory back as it is emptied.
    freed = sum(disk.memory for disk in snap.zram if f"/dev/{disk.name}" == device.name)
    available, zswap = snap.available + freed, snap.zswap
    on_zram, taken = _zram(snap, device, available)
    others, available = others + on_zram, available - taken
    if not snap.new_slots or zswap is None or not zswap.enabled:
        return Room(others, 0, available)
    pool = min(available, max(0, (zswap.limit or 0) - (zswap.pool or 0)))
    return Room(others, int(pool * (zswap.ratio or GUESSED_RATIO)), available - pool)
