# SPDX-License-Identifier: GPL-2.0
"""The machines that are shown side by side: same memory, same work, another place for what is swapped."""

from dataclasses import dataclass

from vswaplab.bench import setup, sources
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestSpec
from vswaplab.run import demo

SAMPLE_MS = 125  # eight samples a second
COMPRESSOR = "lz4"  # of all of them: zswap and zram have defaults that differ


@dataclass(frozen=True)
class Machine:
    """``kernel`` is one of the lab's, ``setup`` one of the benchmarks' set-ups."""

    name: str
    summary: str
    kernel: str
    setup: str

    @property
    def on_mainline(self) -> bool:
        """Whether it has no virtual swap."""
        return self.kernel == sources.BASE


MACHINES = (
    Machine("mainline", "zswap in front of a swap file, which zswap cannot do without", "mainline", "zswap"),
    Machine("zram", "mainline, swapping to a compressed RAM disk", "mainline", "zram"),
    Machine("virtual swap", "zswap and no swap device", "vswap", "zswap"),
)


def spec(machine: Machine, kernel: BuiltKernel, mem: int, compressor: str, timeout: float) -> GuestSpec:
    """The guest; ``mem`` is its RAM in bytes, ``timeout`` in seconds. Its script is not set."""
    found = setup.find(machine.setup)
    device = found.mainline_device if machine.on_mainline else found.device
    sizes = setup.sizes(found, "none", mem, int(mem * demo.SWAPCHECK_TIMES), device)
    return GuestSpec(
        kernel=kernel,
        script="",
        mem_bytes=sizes.mem,
        swap=f"{device}:{-(-sizes.device >> 20)}M" if sizes.device else "none",
        zswap=found.zswap,
        compressor=compressor,
        pool_percent=sizes.pool_percent if found.zswap else None,
        mode=found.mode,
        timeout=timeout,
        sample_ms=SAMPLE_MS,
    )
