# SPDX-License-Identifier: GPL-2.0
"""Kernels that need not exist, guests that answer at once, and rounds made by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vswaplab.bench import suites
from vswaplab.bench.case import Case, Options, Turn
from vswaplab.bench.kernels import Kernel
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.plan import Plan
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec

CASE = Case("usemem1", "zswap", "memcg")
NAMES = ("mainline", "vswap")

TIME = {"seconds": 2.0, "user_seconds": 0.5, "sys_seconds": 1.5, "exit_code": 0, "signal": 0}
USEMEM = {"throughput_kb_s": 51200.0, "free_us": 1000, "verified": True}
BEFORE = "vmstat zswpout 10\nvmstat allocstall_normal 1\nvmstat allocstall_movable 2\nstat cpu 1 0 100 5 0 0 0\n"
AFTER = (
    "vmstat zswpout 110\nvmstat allocstall_normal 4\nvmstat allocstall_movable 4\nstat cpu 1 0 350 5 0 0 0\n"
    "psi some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
)


def kernel(name: str, directory: Path, arch: str = "um") -> Kernel:
    """A kernel whose image is a small file."""
    image = directory / f"{name}-image"
    image.write_text(name)
    built = BuiltKernel(name, arch, "release", image, directory, directory / "none", f"7.3.4-{name}")
    return Kernel(built, name == "vswap", f"7.3.4-{name}", "CONFIG_LRU_GEN=y\nCONFIG_CRYPTO_LZ4=y\n")


def plan(directory: Path, *cases: Case, **options: Any) -> Plan:
    """A plan for mainline and vswap."""
    kernels = {(name, "release"): kernel(name, directory) for name in NAMES}
    settings = Options(**{"rounds": 3, "limit": 64 << 20, **options})
    return Plan(cases or (CASE,), NAMES, kernels, settings, directory / "programs")


def usemem_files(**changes: Any) -> dict[str, str]:
    """What a good round of usemem leaves."""
    files = {"time.json": TIME, "usemem.json": {**USEMEM, "failed": 0}, "out.json": USEMEM, **changes}
    return {"before": BEFORE, "after": AFTER, **{name: json.dumps(content) for name, content in files.items()}}


def ended(files: Mapping[str, str], **fields: Any) -> GuestResult:
    """A guest that came to its regular end."""
    return GuestResult(**{"status": "ok", "exit_code": 0, "wall_seconds": 4.0, "files": dict(files), **fields})


class Guests:
    """Stands for boot(): good rounds of usemem, faster on vswap; remembers what it was asked for."""

    def __init__(
        self, interrupt_after: int | None = None, interrupt: BaseException | None = None
    ) -> None:
        self.specs: list[GuestSpec] = []
        self._left = interrupt_after
        self._interrupt = interrupt or KeyboardInterrupt()

    def __call__(self, spec: GuestSpec) -> GuestResult:
        """One guest."""
        if self._left is not None:
            if not self._left:
                raise self._interrupt
            self._left -= 1
        self.specs.append(spec)
        free = {"mainline": 1000, "vswap": 600}[spec.kernel.kernel] + len(self.specs)
        return ended(usemem_files(**{"usemem.json": {**USEMEM, "free_us": free}}))


class Silent:
    """Watches and says nothing; ``starts`` are recorded."""

    def __init__(self) -> None:
        self.left: list[float | None] = []

    def starts(self, turn: Turn, done: int, total: int, left: float | None) -> None:
        """Record what is said to be left."""
        self.left.append(left)

    def ended(self, turn: Turn, outcome: Outcome) -> None:
        """Ignore it."""


def good(case: Case, value: float) -> Outcome:
    """A good round with the same value for each metric."""
    return Outcome(
        "ok", "", {metric.name: value for metric in suites.find(case.suite).metrics}, {"zswpout": value}
    )
