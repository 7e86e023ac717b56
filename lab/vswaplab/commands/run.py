# SPDX-License-Identifier: GPL-2.0
"""Boot a small machine and run a program in it: the demonstration, or COMMAND from this host.

The machine has no disk but, with --swap file:SIZE, one to swap to. It sees this host's files,
and what it writes to them is gone at its end. COMMAND runs as root, with the current directory
and environment, and without a terminal; usemem and swapcheck are there in any case.

Without COMMAND: swapcheck with twice the memory's size, then redis-server with one and a half times,
on virtual swap and then on the mainline kernel (--kernel chooses one of them).
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from vswaplab import paths
from vswaplab.build import config, kbuild, workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import UsageError
from vswaplab.guest import GuestSpec, boot
from vswaplab.guest.spec import CPUS_DEFAULT, CPUS_MAX, MODES
from vswaplab.progress import shown
from vswaplab.run import demo, hostprogram
from vswaplab.run.live import LiveLine
from vswaplab.run.report import Report, own_verdict, sentence, table, to_json
from vswaplab.units import parse_size

KERNELS = ("vswap", "mainline")
POOL_PERCENT = 90  # where zswap is all there is; in front of a device it is a cache
LAST_WORDS = 20  # lines of a failed workload's output

EPILOG = f"""
"verified" means: COMMAND ended with exit code 0; swapcheck and the Redis client compare every
byte themselves. The working set of COMMAND is the most anonymous and shared memory there was, in
RAM or swapped, above what the machine had before. The peak is the moment with most slots in use.
On the mainline kernel all slots are a device's, and metadata is not counted.

Exit codes: 0 verified; 1 the workload failed, was not verified, or the kernel complained
(WARN, BUG, lockdep, KASAN, leak, stall ...); 2 usage; 3 the machine was lost or out of time.
The kernels' logs are in {paths.cache_dir() / "log"}.
"""


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise UsageError(f"not a number: {text!r}") from error


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"not a number of seconds: {text!r}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap run"."""
    add = parser.add_argument
    add("--kernel", choices=KERNELS, help="default: vswap; without COMMAND: both, one after the other")
    add("--arch", choices=config.ARCHES, default="um", help="User-Mode Linux or QEMU (default: um)")
    add("--flavour", choices=config.FLAVOURS, default="release", help="default: release")
    add("--mem", metavar="SIZE", default="256M", help="the machine's memory (default: 256M)")
    most = ", ".join(f"{arch}: {count}" for arch, count in CPUS_MAX.items())
    add("--cpus", metavar="N", type=_number, help=f"processors (default: {CPUS_DEFAULT}; at most {most})")
    devices = "none, file:SIZE, zram:SIZE or ram:SIZE, which is a ramdisk (default: none)"
    add("--swap", metavar="DEVICE", default="none", help=devices)
    add("--zswap", choices=("on", "off"), default="on", help="compressed swap in RAM (default: on)")
    add("--compressor", metavar="NAME", help="of zswap and zram: lzo, lz4, zstd ... (default: the kernel's)")
    add(
        "--pool", metavar="PERCENT", type=_number,
        help=f"how much of the memory zswap may take (default: {POOL_PERCENT}; with a device the kernel's, 20)",
    )  # fmt: skip
    add("--mode", choices=MODES, default="auto", help="when to use virtual slots (default: auto; not on mainline)")
    add("--timeout", metavar="SECONDS", type=_seconds, default=600.0, help="for each machine (default: 600)")
    add("--json", metavar="FILE", help="write the results there")
    add("command", metavar="COMMAND...", nargs=argparse.REMAINDER, help="a program of this host and its arguments")
    parser.usage = f"{parser.prog} [OPTIONS] [-- COMMAND...]"
    parser.epilog = EPILOG


def _spec(args: argparse.Namespace, kernel: BuiltKernel) -> GuestSpec:
    pool = POOL_PERCENT if args.pool is None and args.swap == "none" else args.pool
    return GuestSpec(
        kernel=kernel,
        script="",
        mem_bytes=parse_size(args.mem),
        cpus=args.cpus,
        swap=args.swap,
        zswap=args.zswap == "on",
        compressor=args.compressor,
        pool_percent=pool,
        mode=args.mode,
        timeout=args.timeout,
    )


def _check(args: argparse.Namespace) -> None:
    """Everything that can be wrong, before anything is built."""
    nothing = Path()
    _spec(args, BuiltKernel("vswap", args.arch, args.flavour, nothing, nothing, nothing, "")).check()
    if args.json is not None:
        target = Path(args.json)
        if target.is_dir() or not os.access(target.absolute().parent, os.W_OK):
            raise UsageError(f"cannot write to {args.json}")


def _build(args: argparse.Namespace, kernel: str) -> BuiltKernel:
    with shown() as progress:
        return kbuild.build(kernel, args.arch, args.flavour, progress=progress)


def _run_one(spec: GuestSpec, program: demo.Program, quiet: bool) -> Report:
    """One guest from start to end, followed on the screen. Raises UsageError for refused settings."""
    title = f"{program.title} on {spec.kernel.kernel}"
    log = paths.cache_dir() / "log" / f"console-{spec.kernel.name}-{program.title}.log"
    with LiveLine(title) as live:
        followed = replace(spec, script=program.script(spec.mem_bytes), on_sample=live.sample)
        if not quiet:
            followed = replace(followed, on_output=live.output)
        result = boot(followed, console=log)
    if result.status == "refused":
        raise UsageError(result.error or "the kernel refused a setting")
    report = Report(program.title, spec, result, program.verdict(result))
    if quiet and not report.good:
        _show_last_words(title, result.output)
    return report


def _show_last_words(title: str, output: str) -> None:
    """What a workload that was not shown while it ran said before it failed."""
    for line in output.splitlines()[-LAST_WORDS:]:
        sys.stderr.write(f"{title}: {line}\n")


def _write_json(args: argparse.Namespace, reports: Sequence[Report]) -> None:
    """The first report; in a demonstration the others are in "runs", the first included."""
    if args.json is None:
        return
    content = to_json(reports[0])
    if len(reports) > 1:
        content["runs"] = [to_json(report) for report in reports]
    data = (json.dumps(content, indent=2) + "\n").encode()
    if Path(args.json).exists() and not Path(args.json).is_file():
        Path(args.json).write_bytes(data)  # such as /dev/stdout
    else:
        paths.write_file(Path(args.json), data)


def _own_program(args: argparse.Namespace, argv: Sequence[str]) -> demo.Program:
    text = hostprogram.script(argv, Path.cwd(), os.environ, workloads.build())
    return demo.Program(Path(argv[0]).name, lambda _mem: text, own_verdict)


def _finish(args: argparse.Namespace, reports: Sequence[Report], judged: Sequence[Report]) -> int:
    """Table, JSON, exit code: 0, or that of the first failure among ``judged`` (raised)."""
    sys.stdout.flush()
    console = Console()
    console.print(table(reports))
    if len(reports) > 1:
        for report in reports:
            console.print(sentence(report), highlight=False)
    _write_json(args, reports)
    for report in judged:
        if failure := report.failure():
            raise failure
    return 0


def _demonstrate(args: argparse.Namespace) -> int:
    kernels = [args.kernel] if args.kernel else list(KERNELS)
    programs = demo.programs(workloads.build())
    built = {kernel: _build(args, kernel) for kernel in kernels}
    reports = [_run_one(_spec(args, built[kernel]), program, True) for program in programs for kernel in kernels]
    # Side by side, mainline is there to fail.
    judged = reports if args.kernel else [report for report in reports if report.spec.kernel.kernel == "vswap"]
    return _finish(args, reports, judged)


def main(args: argparse.Namespace) -> int:
    """Run the demonstration or the user's command; see the module's text for the exit codes."""
    argv = args.command[1:] if args.command[:1] == ["--"] else args.command
    _check(args)
    if not argv:
        return _demonstrate(args)
    program = _own_program(args, argv)
    report = _run_one(_spec(args, _build(args, args.kernel or "vswap")), program, False)
    return _finish(args, [report], [report])
