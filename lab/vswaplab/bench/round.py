# SPDX-License-Identifier: GPL-2.0
"""One guest: made for a case, booted, and what came of it turned into figures."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from vswaplab.bench import counters, script, setup, suites
from vswaplab.bench.plan import Case, Options
from vswaplab.bench.suite import Room, Suite, Unverified
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec
from vswaplab.guest.boot import machine_for

Status = Literal["ok", "oom", "failed", "panic", "timeout", "lost"]
SAMPLE_MS = 60_000  # the counters that "vswap run" samples are not needed: no sampling while it measures


@dataclass(frozen=True)
class Kernel:
    """A kernel that has shown that it boots; ``vswap``: it has virtual swap."""

    built: BuiltKernel
    vswap: bool
    release: str = ""
    config: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a guest gave: figures by metric, or the reason why there are none."""

    status: Status
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    wall_seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """For the record of finished rounds."""
        return asdict(self)


def room_of(case: Case, options: Options) -> Room:
    """What the workload of a case gets."""
    return Room(options.limit, options.cpus, options.arch)


def spec(case: Case, kernel: Kernel, options: Options, programs: Path) -> GuestSpec:
    """The guest for a turn."""
    suite, found, room = suites.find(case.suite), setup.find(case.setup), room_of(case, options)
    device = found.device if kernel.vswap else found.mainline_device
    size = setup.sizes(found, case.pressure, options.limit, suite.working_set(room), device)
    machine = machine_for(kernel.built.arch)
    # Without a swap disk the second disk is the first one.
    scratch = machine.disk if kernel.built.arch == "x86_64" and device != "file" else machine.scratch
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
    mode = [f"vswap={found.mode}"] if kernel.vswap and kernel.built.kernel != "vswap" else []
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
            extra_cmdline=mode,
            sample_ms=SAMPLE_MS,
            leak_pause=0,
            scratch=suite.scratch,
        )
    )


def _failure(result: GuestResult) -> tuple[Status, str] | None:
    """What is wrong with a guest, whatever its workload says; None if nothing is."""
    if result.status == "panic":
        return "panic", next((text for text in result.splats if "panic" in text), "Kernel panic")
    if result.status == "timeout":
        return "timeout", "not finished in time"
    if result.status != "ok":
        return ("failed" if result.status == "refused" else "lost"), result.error or "the machine was lost"
    if result.splats:
        return "failed", f"the kernel says: {result.splats[0]}"
    return None


def _out_of_memory(result: GuestResult) -> bool:
    return bool(result.oom_kills) or "Out of memory and no killable" in result.console


def _last_words(result: GuestResult) -> str:
    if said := result.files.get("failed", "").strip():
        return said
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"exit code {result.exit_code}"


def _figures(suite: Suite, result: GuestResult) -> dict[str, float]:
    """The suite's figures, all of them and each a number. Raises Unverified."""
    try:
        values = suite.parse(result.files)
        found = {metric.name: float(values[metric.name]) for metric in suite.metrics}
    except (KeyError, ValueError, TypeError) as error:
        raise Unverified(f"the result cannot be read: {type(error).__name__}: {error}") from error
    if bad := [name for name, value in found.items() if not math.isfinite(value)]:
        raise Unverified(f"{bad[0]} is not a number")
    return found


def outcome(suite: Suite, result: GuestResult) -> Outcome:
    """Judge a guest that has ended. An OOM kill is a result also when the rest went well."""
    grown = counters.grown(result.files)
    wall = round(result.wall_seconds, 3)
    if failure := _failure(result):
        return Outcome(*failure, {}, grown, wall)
    if _out_of_memory(result):
        return Outcome("oom", f"killed: {', '.join(result.oom_kills) or 'nothing'}", {}, grown, wall)
    if "failed" in result.files or result.exit_code != 0:
        return Outcome("failed", _last_words(result), {}, grown, wall)
    try:
        return Outcome("ok", "", _figures(suite, result), grown, wall)
    except Unverified as error:
        return Outcome("failed", str(error), {}, grown, wall)


def run(
    case: Case, kernel: Kernel, options: Options, programs: Path, boot: Callable[[GuestSpec], GuestResult]
) -> Outcome:
    """Boot the guest of a turn and judge it."""
    return outcome(suites.find(case.suite), boot(spec(case, kernel, options, programs)))
