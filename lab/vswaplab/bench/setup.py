# SPDX-License-Identifier: GPL-2.0
"""Set-ups: where the swapped pages go, under which pressure, and what guest that takes.

Sizes follow from one figure, the limit (``--mem``): the RAM that a workload gets before it has to
swap. Under global pressure the machine has that much RAM; under a memcg limit it is memory.max of
the workload's group, in a machine that has GUEST_TIMES as much and GUEST_EXTRA.
"""

from dataclasses import dataclass
from typing import Literal

from vswaplab.errors import UsageError

GUEST_TIMES, GUEST_EXTRA = 3, 128 << 20
DEVICE_TIMES, DEVICE_EXTRA = 1.0, 64 << 20  # a swap device, of the working set and this
ROOMY = 90  # percent of RAM for zswap's pool where it is the only place
FULL_SHARE = 0.1  # of the limit: the pool that is meant to overflow

Device = Literal["none", "file", "zram", "ram"]


@dataclass(frozen=True)
class Setup:
    """``device`` is for kernels with virtual swap, ``mainline_device`` for those without."""

    name: str
    summary: str
    device: Device
    mainline_device: Device
    zswap: bool = False
    small_pool: bool = False
    mode: str = "auto"  # /sys/kernel/mm/vswap/mode
    zswap_at_boot: bool = False  # on until zswap is set up as the set-up has it

    @property
    def charged(self) -> bool:
        """Compressed memory is charged to the group whose it is: zswap's is, zram's is nobody's."""
        return self.device != "zram"


SETUPS = (
    Setup(
        "zswap", "zswap alone; kernels that cannot do without get the swapfile it forces on them", "none", "file",
        zswap=True,
    ),
    Setup("zswap-disk", "zswap with room for everything, and a disk", "file", "file", zswap=True),
    Setup(
        "zswap-full", "zswap whose pool is too small, and a disk it writes back to", "file", "file", zswap=True,
        small_pool=True,
    ),
    Setup("zram", "zram as swap device, its memory limited as zswap's pool is", "zram", "zram"),
    Setup("disk", "a disk, no zswap; virtual swap in mode auto", "file", "file"),
    Setup("disk-after-zswap", "the same; zswap was on, and was turned off", "file", "file", zswap_at_boot=True),
    Setup("disk-always", "a disk, no zswap; virtual swap in mode always", "file", "file", mode="always"),
    Setup("pmem", "a disk in RAM that swaps synchronously, as persistent memory does", "ram", "ram"),
)  # fmt: skip
USUAL = ("zswap", "disk")  # what a suite runs in if neither it nor the user says more
ZSWAP = ("zswap", "zswap-disk")  # those of who publishes about zswap: a swapfile behind it that stays empty


def find(name: str) -> Setup:
    """The set-up of that name. Raises UsageError naming those there are."""
    for setup in SETUPS:
        if setup.name == name:
            return setup
    raise UsageError(f"no set-up {name!r}; there are: {', '.join(setup.name for setup in SETUPS)}")


@dataclass(frozen=True)
class Sizes:
    """Bytes: the machine's RAM and its swap device (0: none); zswap's pool in percent of the RAM."""

    mem: int
    device: int
    pool_percent: int


def sizes(setup: Setup, pressure: str, limit: int, working_set: int, device: Device) -> Sizes:
    """What the guest of a round gets. Under pressure "none" it has the limit as its RAM."""
    ram = limit * GUEST_TIMES + GUEST_EXTRA if pressure == "memcg" else limit
    swap = 0 if device == "none" else int(working_set * DEVICE_TIMES) + DEVICE_EXTRA
    percent = ROOMY
    if setup.small_pool:
        percent = max(1, round(100 * FULL_SHARE * limit / ram))
    if device == "ram":
        ram += swap  # such a device is no part of the RAM that the workload gets
    return Sizes(ram, swap, percent)
