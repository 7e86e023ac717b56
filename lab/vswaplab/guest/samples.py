# SPDX-License-Identifier: GPL-2.0
"""What the guest's memory counters said, at one moment and over a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PAGE = 4096


@dataclass(frozen=True)
class Counters:
    """The five figures of every report: slots, and bytes of metadata."""

    slots_used: int = 0
    zero: int = 0
    zswap: int = 0
    physical: int = 0
    metadata_bytes: int = 0


@dataclass(frozen=True)
class Sample:
    """One sample; ``t`` is in seconds since the guest's boot, ``phase`` is start, run or end.

    ``meminfo`` is in bytes, ``vmstat`` in events. ``vswap`` holds the files of
    /sys/kernel/mm/vswap, and is None on a kernel that has none of it. ``zram`` has bytes, and is
    empty on a machine that does not swap to one.
    """

    t: float
    phase: str
    meminfo: Mapping[str, int]
    vmstat: Mapping[str, int] = field(default_factory=dict)
    vswap: Mapping[str, int] | None = None
    zswap: Mapping[str, int] = field(default_factory=dict)
    zram: Mapping[str, int] = field(default_factory=dict)

    @property
    def device_slots(self) -> int:
        """Slots in use on swap devices."""
        return (self.meminfo.get("SwapTotal", 0) - self.meminfo.get("SwapFree", 0)) // PAGE

    @property
    def counters(self) -> Counters:
        """The five figures. Mainline: every slot is a device's, whatever holds the data."""
        if self.vswap is None:
            in_zswap = self.meminfo.get("Zswapped", 0) // PAGE
            return Counters(self.device_slots, 0, in_zswap, self.device_slots, 0)
        names = ("slots_used", "zero", "zswap", "physical", "metadata_bytes")
        return Counters(**{name: self.vswap.get(name, 0) for name in names})

    @property
    def stored_bytes(self) -> int:
        """Memory that compressed data takes: zswap's pool, and a zram."""
        return self.meminfo.get("Zswap", 0) + self.zram.get("memory_bytes", 0)

    @property
    def original_bytes(self) -> int:
        """The same data before compression."""
        return self.meminfo.get("Zswapped", 0) + self.zram.get("data_bytes", 0)

    @property
    def ratio(self) -> float | None:
        """Compression ratio; None while there is (nearly) nothing, where it means nothing."""
        if self.stored_bytes < 64 * PAGE or self.original_bytes < 64 * PAGE:
            return None
        return self.original_bytes / self.stored_bytes

    @property
    def data_bytes(self) -> int:
        """Anonymous and shared memory of all processes, wherever it is: RAM or swap."""
        swapped = self.device_slots
        cached = self.vmstat.get("nr_swapcached", 0) * PAGE
        if self.vswap is not None:
            # A virtual slot with a device slot behind it is one page, not two.
            swapped += self.vswap.get("slots_used", 0) - self.vswap.get("physical", 0)
        in_ram = self.meminfo.get("AnonPages", 0) + self.meminfo.get("Shmem", 0)
        return max(0, in_ram + max(0, swapped * PAGE - cached))


def from_event(event: Mapping[str, Any]) -> Sample:
    """The Sample that an event of type "sample" carries; raises KeyError for a malformed one."""
    return Sample(
        t=event["t"],
        phase=event["phase"],
        meminfo=event["meminfo"],
        vmstat=event.get("vmstat", {}),
        vswap=event.get("vswap"),
        zswap=event.get("zswap", {}),
        zram=event.get("zram", {}),
    )


def peak(samples: Iterable[Sample]) -> Counters:
    """The figures of the moment with most slots in use: they belong together."""
    counters = (sample.counters for sample in samples)
    return max(counters, key=lambda found: found.slots_used, default=Counters())


def device_slots_peak(samples: Iterable[Sample]) -> int:
    """The most slots that were in use on swap devices."""
    return max((sample.device_slots for sample in samples), default=0)


def working_set(samples: Iterable[Sample]) -> int:
    """Bytes: the most anonymous and shared memory, above what there was before the workload."""
    seen = list(samples)
    before = next((sample.data_bytes for sample in seen if sample.phase == "start"), 0)
    return max((max(0, sample.data_bytes - before) for sample in seen), default=0)


def grown(samples: Iterable[Sample], name: str) -> int:
    """By how much a counter of /proc/vmstat grew from the first sample to the last; 0 if unknown."""
    values = [sample.vmstat[name] for sample in samples if name in sample.vmstat]
    return values[-1] - values[0] if values else 0
