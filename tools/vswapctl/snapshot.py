# SPDX-License-Identifier: GPL-2.0
"""What the kernel says about memory and swap at one moment."""

from typing import NamedTuple

from vswapctl.errors import CannotRead
from vswapctl.kernel import Kernel, as_number
from vswapctl.swaps import Device, devices
from vswapctl.units import PAGE, in_bytes

VSWAP = "/sys/kernel/mm/vswap"
ZSWAP = "/sys/module/zswap/parameters"
DEBUG = "/sys/kernel/debug/zswap"
DEBUG_NAMES = (
    "pool_limit_hit", "reject_reclaim_fail", "reject_alloc_fail", "reject_kmemcache_fail",
    "reject_compress_fail", "reject_compress_poor", "decompress_fail", "written_back_pages",
)  # fmt: skip

# What zswap keeps for a page besides its data, on 64 bit: zsmalloc's handle, and a struct zswap_entry unless
# the page is at a virtual slot. The exact number of either is in /proc/slabinfo, which needs root.
HANDLE_BYTES = 8
ENTRY_BYTES = 56


class Slots(NamedTuple):
    """/sys/kernel/mm/vswap: pages, but metadata in bytes; None for what is not there."""

    mode: str | None
    used: int | None
    max: int | None
    zero: int | None
    zswap: int | None
    device: int | None
    cached: int | None
    refused: int | None
    metadata: int | None
    contiguous: int | None  # of the free slots of devices


class Zswap(NamedTuple):
    """zswap's parameters and its pool; bytes."""

    enabled: bool
    compressor: str | None
    max_percent: int | None
    accept_percent: int | None
    shrinker: bool
    pool: int | None  # before Linux 5.19 only root can know, as of what is stored
    stored: int | None
    limit: int | None
    entries: int | None  # what the entries and handles take, by computation

    @property
    def ratio(self) -> float | None:
        """How far data shrinks; None while the pool is nearly empty, where it means nothing."""
        if self.pool is None or self.stored is None or min(self.pool, self.stored) < 64 * PAGE:
            return None
        return self.stored / self.pool

    @property
    def fill(self) -> float | None:
        """How much of the limit is used, 0 to 1 and a little more."""
        return self.pool / self.limit if self.limit and self.pool is not None else None


class Zram(NamedTuple):
    """A zram disk, whether it is used for swap or not; bytes."""

    name: str
    data: int
    compressed: int
    memory: int

    @property
    def ratio(self) -> float | None:
        """How many times smaller its data is; None before there is enough to tell."""
        return self.data / self.memory if self.memory >= 64 * PAGE else None


class Snapshot(NamedTuple):
    """``slots`` is None on a kernel without virtual swap, ``zswap`` without zswap.

    ``debug`` are zswap's counters in debugfs, None where they may not be read. ``stalled`` are
    microseconds that "some" or the "full" set of programs have waited for memory; empty without PSI.
    """

    meminfo: dict[str, int]
    vmstat: dict[str, int]
    slots: Slots | None
    zswap: Zswap | None
    devices: list[Device]
    zram: list[Zram]
    incompressible: int | None
    debug: dict[str, int] | None
    stalled: dict[str, int]
    off_at_boot: bool  # virtual swap, by vswap.max_gb=0

    @property
    def total(self) -> int:
        """RAM, in bytes."""
        return self.meminfo["MemTotal"]

    @property
    def available(self) -> int:
        """RAM that a new program could have, in bytes."""
        return self.meminfo.get("MemAvailable", self.meminfo.get("MemFree", 0))

    @property
    def new_slots(self) -> bool:
        """Whether what is swapped out now may get virtual slots: not in mode never."""
        return self.slots is not None and self.slots.mode != "never"

    @property
    def device_room(self) -> bool:
        """Whether a page could be written to a device."""
        return any(device.free for device in self.devices)

    @property
    def fragmented(self) -> float | None:
        """The part of the devices' free space that lies between used slots, 0 to 1; None if it is not known."""
        free = sum(device.free for device in self.devices)
        if not free or self.slots is None or self.slots.contiguous is None:
            return None
        return max(0.0, 1 - self.slots.contiguous * PAGE / free)

    @property
    def gained(self) -> int | None:
        """RAM that is free because pages are compressed, or zero, after all that it costs; bytes.

        None without zswap, or if it does not say. What is on devices is no gain of compression and not counted.
        """
        zswap = self.zswap
        if zswap is None or zswap.stored is None or zswap.pool is None or zswap.entries is None:
            return None
        zero = (self.slots.zero or 0) * PAGE if self.slots else 0
        tables = (self.slots.metadata or 0) if self.slots else 0
        return zswap.stored + zero - zswap.pool - zswap.entries - tables


def off_at_boot(kernel: Kernel) -> bool:
    """Whether the kernel has virtual swap, and vswap.max_gb=0 has turned it off."""
    if kernel.exists(VSWAP):
        return False
    limit = kernel.number("/sys/module/vswap/parameters/max_gb")
    words = (kernel.text("/proc/cmdline") or "").split()
    said = [word for word in words if word.startswith("vswap.max_gb=")]
    return limit == 0 if limit is not None else said[-1:] == ["vswap.max_gb=0"]


def read_slots(kernel: Kernel, contiguous: bool = False) -> Slots | None:
    """The figures of virtual swap; None if the kernel has none.

    ``contiguous`` is whether to read what the kernel has to walk all clusters of devices for.
    """
    if not kernel.exists(VSWAP):
        return None
    files = (
        "slots_used", "slots_max", "zero", "zswap", "physical", "cached", "refused", "metadata_bytes",
    )  # fmt: skip
    figures = [kernel.number(f"{VSWAP}/{name}") for name in files]
    figures.append(kernel.number(f"{VSWAP}/free_contiguous") if contiguous else None)
    return Slots(kernel.word(f"{VSWAP}/mode"), *figures)


def _old_sizes(kernel: Kernel) -> tuple[int | None, int | None]:
    """What zswap's pool takes and what is in it, of a kernel whose meminfo does not say; None without root."""
    if not kernel.names("/sys/kernel/debug"):
        return None, None
    return kernel.number(f"{DEBUG}/pool_total_size"), in_bytes(kernel.number(f"{DEBUG}/stored_pages"))


def _entries(stored: int, virtual: int) -> int:
    """What entries and handles of so many pages take, of which some are at virtual slots."""
    return stored * HANDLE_BYTES + max(0, stored - virtual) * ENTRY_BYTES


def read_zswap(kernel: Kernel, meminfo: dict[str, int], slots: Slots | None) -> Zswap | None:
    """The figures of zswap; None if the kernel has none."""
    if not kernel.exists(ZSWAP):
        return None
    pool, stored = meminfo.get("Zswap"), meminfo.get("Zswapped")
    if pool is None or stored is None:
        pool, stored = _old_sizes(kernel)
    virtual = (slots.zswap or 0) if slots else 0
    percent = kernel.number(f"{ZSWAP}/max_pool_percent")
    return Zswap(
        kernel.switch(f"{ZSWAP}/enabled"),
        kernel.word(f"{ZSWAP}/compressor"),
        percent,
        kernel.number(f"{ZSWAP}/accept_threshold_percent"),
        kernel.switch(f"{ZSWAP}/shrinker_enabled"),
        pool,
        stored,
        None if percent is None else meminfo["MemTotal"] * percent // 100,
        None if stored is None else _entries(stored // PAGE, virtual),
    )


def read_zram(kernel: Kernel) -> list[Zram]:
    """The zram disks that have been given a size."""
    found = []
    for name in kernel.names("/sys/block"):
        if name.startswith("zram") and kernel.number(f"/sys/block/{name}/disksize") != 0:
            words = (kernel.text(f"/sys/block/{name}/mm_stat") or "").split()
            if len(words) >= 3 and all(word.isdigit() for word in words[:3]):
                data, compressed, memory = map(int, words[:3])
                found.append(Zram(name, data, compressed, memory))
    return found


def read_meminfo(kernel: Kernel) -> dict[str, int]:
    """/proc/meminfo in bytes. Raises CannotRead: nothing can be said without it."""
    meminfo = kernel.table("/proc/meminfo")
    if not meminfo.get("MemTotal"):
        raise CannotRead(f"cannot read {kernel.path('/proc/meminfo')}: mount /proc, or name another --root")
    return meminfo


def read_debug(kernel: Kernel) -> dict[str, int] | None:
    """zswap's counters in debugfs, which need root; None without."""
    if not kernel.names("/sys/kernel/debug"):
        return None
    found = {name: kernel.number(f"{DEBUG}/{name}") for name in DEBUG_NAMES}
    return {name: value for name, value in found.items() if value is not None} or None


def read_stalled(kernel: Kernel) -> dict[str, int]:
    """/proc/pressure/memory: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", and the same for "full"."""
    found = {}
    for words in (line.split() for line in kernel.lines("/proc/pressure/memory")):
        total = as_number(words[-1].removeprefix("total=")) if len(words) > 1 else None
        if total is not None:
            found[words[0]] = total
    return found


def take(kernel: Kernel, debug: bool = False, cgroups: str | None = None, contiguous: bool = False) -> Snapshot:
    """Read everything; ``cgroups`` is where control groups are, for what only the root group knows.

    ``contiguous`` is as for read_slots().
    """
    meminfo = read_meminfo(kernel)
    stat = kernel.table(f"{cgroups}/memory.stat") if cgroups else {}
    slots = read_slots(kernel, contiguous)
    return Snapshot(
        meminfo,
        kernel.table("/proc/vmstat"),
        slots,
        read_zswap(kernel, meminfo, slots),
        devices(kernel),
        read_zram(kernel),
        stat.get("zswap_incomp"),
        read_debug(kernel) if debug else None,
        read_stalled(kernel),
        off_at_boot(kernel),
    )
