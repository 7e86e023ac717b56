# SPDX-License-Identifier: GPL-2.0
"""What the swap layer costs per page: the in-kernel benchmark, in nanoseconds or instructions.

No page tables, no reclaim, devices in RAM: what differs between kernels is the layer. "alloc" to
"release" are the phases that kernel-bench/mm/swap_bench/main.c times, for entries with data behind them;
"alloc+free, no data" is of entries that were never written, "compress" is zswap's default compressor
alone: with zswap, what "store" takes beyond it is the layer's. A page is one word repeated, so that
compressing it costs little; in "micro-real" and "icount-real" pages are like those of programs.

Instructions are those that QEMU counts (-icount shift=0) and repeat within a fraction of a
percent. On User-Mode Linux each disabling of interrupts is a host system call and hides the rest:
look at the instructions for what a phase costs, at nanoseconds for what caches and locks add.
"""

from collections.abc import Mapping
from dataclasses import replace

from vswaplab.bench import swapbench
from vswaplab.bench.suite import Metric, Room, Suite
from vswaplab.guest import GuestSpec
from vswaplab.guest.spec import CPUS_MAX

_MB = 1 << 20
_SUMS = {
    "swap-out": ("alloc", "map", "store", "evict"),
    "swap-in": ("load", "release"),
    "alloc+free": ("alloc", "free"),
}
_NO_DATA = "alloc+free, no data"


def _metrics(unit: str) -> tuple[Metric, ...]:
    return tuple(Metric(name, unit) for name in (*_SUMS, _NO_DATA, *swapbench.PHASES))


class Micro(Suite):
    """Rounds of op=swap and op=alloc_free; a benchmark's round is one guest with all of those."""

    setups = ("zswap", "zswap-disk", "zram", "disk", "disk-after-zswap", "disk-always")
    pressures = ("none",)
    flavour = "bench"
    faults = False

    def __init__(
        self, name: str, summary: str, *, order: int = 0, cpus: int = 1, icount: bool = False, real: bool = False
    ) -> None:
        self.name = name
        self.summary = summary
        self._order, self._cpus, self._icount, self._real = order, cpus, icount, int(real)
        self.deterministic = icount
        self._clock = "cycles" if icount else "ns"
        self.metrics = _metrics("instructions/page" if icount else "ns/page")
        if icount or order or cpus > CPUS_MAX["um"]:  # User-Mode Linux has no large folios
            self.arches = ("x86_64",)
        self._pages = 16384 if icount else 32768 // cpus  # of each CPU
        self._rounds = swapbench.WARM_UP + (3 if icount else 5)

    def working_set(self, room: Room) -> int:
        """The pages of all CPUs; the machine has room for them several times over."""
        return self._pages * self._cpus * 4096

    def adapt(self, spec: GuestSpec) -> GuestSpec:
        """A machine with memory to spare, and a device in RAM that holds everything."""
        size = self._pages * self._cpus * 4096
        return replace(
            spec,
            mem_bytes=512 * _MB,
            cpus=self._cpus,
            swap=swapbench.in_ram(spec.swap, size + 64 * _MB),
            pool_percent=80,
            icount=self._icount,
        )

    def script(self, room: Room) -> str:
        """Both operations, in one go each."""
        what = f"order={self._order} cpus={self._cpus} pages={self._pages} rounds={self._rounds} real={self._real}"
        return f"{swapbench.PRELUDE}begin\nrun 'op=swap {what}'\nrun 'op=alloc_free {what}'\nfinish\n"

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """The phases of op=swap, sums of them, and what is left of two when nothing is stored."""
        found = swapbench.per_page(files, self._clock)
        values = {phase: found["swap", phase] for phase in swapbench.PHASES}
        sums = {name: sum(values[phase] for phase in phases) for name, phases in _SUMS.items()}
        no_data = found["alloc_free", "alloc"] + found["alloc_free", "free"]
        return {**sums, _NO_DATA: no_data, **values}


_ORDERS = {0: "", 4: ", folios of 64 KB", 9: ", folios of 2 MB"}


_REAL = " of the swap layer, pages that compress 3:1 as those of programs do"


def _suites() -> tuple[Micro, ...]:
    one = [
        Micro(f"micro{order or ''}", f"ns per page of the swap layer{text}", order=order)
        for order, text in _ORDERS.items()
    ]
    more = [
        Micro(f"micro{order or ''}-{cpus}cpu", f"the same, {cpus} CPUs contending{text}", order=order, cpus=cpus)
        for cpus in (2, 4)
        for order, text in _ORDERS.items()
    ]
    counted = [
        Micro(f"icount{order or ''}", f"instructions per page of the swap layer{text}", order=order, icount=True)
        for order, text in _ORDERS.items()
    ]
    real = [
        Micro("micro-real", f"ns per page{_REAL}", real=True),
        Micro("icount-real", f"instructions per page{_REAL}", icount=True, real=True),
    ]
    return (*one, *more, *counted, *real)


SUITES = _suites()
