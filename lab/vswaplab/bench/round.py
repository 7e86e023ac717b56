# SPDX-License-Identifier: GPL-2.0
"""One round of one kernel: the guest for it, booted and judged."""

from collections.abc import Callable
from pathlib import Path

from vswaplab.bench import outcome, script, setup, suites
from vswaplab.bench.case import Case, Options
from vswaplab.bench.kernels import Kernel
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.suite import Room
from vswaplab.guest import GuestResult, GuestSpec, Swap
from vswaplab.guest.boot import machine_for
from vswaplab.guest.machine import scratch_device

SAMPLE_MS = 60_000  # the counters that "vswap run" samples are not needed: no sampling while it measures


def spec(case: Case, kernel: Kernel, options: Options, programs: Path) -> GuestSpec:
    """The guest for a turn."""
    suite, found = suites.find(case.suite), setup.find(case.setup)
    room = Room(options.limit, options.cpus, options.arch)
    device = found.device if kernel.vswap else found.mainline_device
    size = setup.sizes(found, case.pressure, options.limit, suite.working_set(room), device)
    scratch = scratch_device(machine_for(kernel.built.arch), Swap(device))
    text = script.whole(
        suite.script(room),
        programs=programs,
        scratch=scratch if suite.scratch else "",
        limit=options.limit if case.pressure == "memcg" else None,
        mglru=case.mglru,
        page_cluster=case.page_cluster,
        fill_device=device == "ram",
        zram_percent=size.pool_percent if device == "zram" else None,
    )
    # Passed by boot.py to the lab's own kernel alone.
    words = [f"vswap={found.mode}"] if kernel.vswap and kernel.built.kernel != "vswap" else []
    words += ["zswap.enabled=1"] if found.zswap_at_boot else []
    return suite.adapt(
        GuestSpec(
            kernel=kernel.built,
            script=text,
            mem_bytes=size.mem,
            cpus=options.cpus,
            swap=f"{device}:{size.device}" if size.device else "none",
            zswap=found.zswap,
            compressor=case.compressor,
            pool_percent=size.pool_percent,
            mode=found.mode,
            timeout=suite.timeout,
            extra_cmdline=words,
            sample_ms=SAMPLE_MS,
            leak_pause=0,
            scratch=suite.scratch,
        )
    )


def run(
    case: Case, kernel: Kernel, options: Options, programs: Path, boot: Callable[[GuestSpec], GuestResult]
) -> Outcome:
    """Boot the guest of a turn and judge it."""
    return outcome.of(suites.find(case.suite), boot(spec(case, kernel, options, programs)))
