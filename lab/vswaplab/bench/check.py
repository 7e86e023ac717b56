# SPDX-License-Identifier: GPL-2.0
"""Everything that can be known to go wrong, said before the first round."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from vswaplab.bench import host, judge, setup, suites
from vswaplab.bench.case import Case, Options
from vswaplab.bench.kernels import Kernel
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import ToolError, UsageError
from vswaplab.guest import GuestResult, GuestSpec
from vswaplab.guest.spec import parse_swap
from vswaplab.units import format_size

SPARE_MEMORY = 512 << 20  # bytes for the host itself
SPARE_DISK = 1 << 30
BUSY = 0.5  # load per CPU
ZRAM_BACKEND = "ZRAM_BACKEND"
TRIAL_MEMORY = 128 << 20
TRIAL_SECONDS = 60.0  # QEMU on a busy machine; a good kernel takes 2
TRIAL = """
[ -d /sys/kernel/mm/vswap ] && echo yes > $RESULTS/vswap
[ -e /sys/module/zswap/parameters/enabled ] || echo zswap > $RESULTS/lacks
cat /proc/config.gz 2>/dev/null | gzip -dc > $RESULTS/config
exit 0
"""


def programs(names: Iterable[str]) -> None:
    """Raise UsageError naming every program that the suites need and the host does not have."""
    missing: dict[str, str] = {}
    for name in names:
        for program in suites.find(name).programs:
            if shutil.which(program.name) is None:
                missing[program.name] = program.package
    if missing:
        said = ", ".join(f"{name} (Debian: {package})" for name, package in missing.items())
        raise UsageError(f"these programs are not installed: {said}")


def room(specs: Sequence[GuestSpec], directory: Path | None = None) -> None:
    """Raise UsageError when the host has too little memory or disk for the largest guest.

    Swap devices are sparse files in the directory for temporary files; they may become full.
    """
    for spec in specs:
        spec.check()
    memory = max((spec.mem_bytes for spec in specs), default=0)
    available = host.memory_bytes("MemAvailable")
    if memory + SPARE_MEMORY > available:
        raise UsageError(
            f"a guest of {format_size(memory)} is needed, and the host has {format_size(available)} available"
            f" (and needs {format_size(SPARE_MEMORY)} itself); choose a smaller --mem, or one --pressure"
        )
    disk = max((_disk_bytes(spec) for spec in specs), default=0)
    where = directory or Path(tempfile.gettempdir())
    free = shutil.disk_usage(where).free
    if disk + SPARE_DISK > free:
        raise UsageError(
            f"{format_size(disk)} of disk and {format_size(SPARE_DISK)} to spare are needed for temporary files,"
            f" and {format_size(free)} are free; set TMPDIR, or choose a smaller --mem"
        )


def _disk_bytes(spec: GuestSpec) -> int:
    swap = parse_swap(spec.swap)
    return spec.scratch + (swap.bytes if swap.kind == "file" else 0)


def warnings(cpus: int, compared: int = 0, rounds: int = 0) -> list[str]:
    """What will make the figures rough: fewer CPUs than a guest has, others that use them, too few rounds."""
    have, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    found = []
    if cpus > have:
        found.append(f"guests have {cpus} CPUs and the host {have}: times will be rough")
    if load > BUSY * have:
        found.append(f"the host is busy (load {load:.1f}): times will be rough")
    if few := judge.too_few(compared, rounds):
        found.append(few)
    return found


def _metrics(cases: Iterable[Case]) -> int:
    """Those that vary: others need no verdict."""
    found = [suites.find(case.suite) for case in cases]
    return sum(len(suite.metrics) for suite in found if not suite.deterministic)


def comparisons(cases: Iterable[Case], kernels: int, against: Iterable[Case] = ()) -> int:
    """How many a report will have; ``against`` are the cases that are compared with a reference as well."""
    return _metrics(cases) * (kernels - 1) + _metrics(against) * kernels


def _decoded(text: str) -> str:
    return text if text.startswith("#") else ""


def trial(built: BuiltKernel, boot: Callable[[GuestSpec], GuestResult]) -> Kernel:
    """Boot a kernel once, and learn what it is. Raises UsageError when it does not come up."""
    spec = GuestSpec(
        built, TRIAL, mem_bytes=TRIAL_MEMORY, cpus=1, zswap=False, timeout=TRIAL_SECONDS, sample_ms=10_000,
        leak_pause=0,
    )  # fmt: skip
    try:
        result = boot(spec)
    except (OSError, ToolError) as error:
        raise UsageError(f"the kernel {built.kernel} cannot be started: {error}") from error
    if result.status != "ok" or result.exit_code != 0:
        lines = [line for line in result.console.splitlines() if line.strip()]
        why = result.error or (lines[-1].strip() if lines else "it said nothing")
        raise UsageError(f"the kernel {built.kernel} ({built.arch}) does not boot ({result.status}): {why}")
    if lacks := result.files.get("lacks"):
        raise UsageError(f"the kernel {built.kernel} lacks what the benchmarks need: {lacks.strip()}")
    config = built.config.read_text() if built.config.is_file() else _decoded(result.files.get("config", ""))
    return Kernel(built, "vswap" in result.files, str(result.hello.get("release", "")), config)


def _compressors(case: Case) -> str:
    """How the options begin that say which compressors there are for a set-up."""
    return ZRAM_BACKEND if setup.find(case.setup).device == "zram" else "CRYPTO"


def settings(cases: Sequence[Case], kernels: Sequence[Kernel]) -> None:
    """Raise UsageError for a compressor or MGLRU that a kernel was built without."""
    wanted = {(case.compressor, _compressors(case)) for case in cases if case.compressor}
    for kernel in kernels:
        if not kernel.config:
            continue  # an image that does not tell; a round will
        for name, prefix in sorted(wanted):
            option = f"CONFIG_{prefix}_{name.upper().replace('LZO-RLE', 'LZO')}=y"
            if option not in kernel.config:
                where = "zram has" if prefix == ZRAM_BACKEND else "has"
                raise UsageError(f"the kernel {kernel.built.kernel}: it {where} no compressor {name!r}")
        if any(case.mglru is not None for case in cases) and "CONFIG_LRU_GEN=y" not in kernel.config:
            raise UsageError(f"the kernel {kernel.built.kernel} has no MGLRU")


def limits(options: Options) -> None:
    """Raise UsageError for numbers that cannot be."""
    if options.rounds < 1:
        raise UsageError("bad number of rounds: at least 1")
    if options.warmup < 1:
        raise UsageError("bad number of warm-up rounds: at least 1, because first rounds differ from the others")
