# SPDX-License-Identifier: GPL-2.0
"""Boot a small machine and run a program in it: the demonstration, or COMMAND from this host.

The machine has no disk but, with --swap file:SIZE, one to swap to, and with --scratch SIZE one to
write to. It sees this host's files, and what it writes to them is kept in its memory, which is never
swapped, and gone at its end. COMMAND runs as root, with the current directory and environment, and
without a terminal; usemem and swapcheck are always available.

Without COMMAND: swapcheck with twice the memory's size, then redis-server with one and a half times,
on virtual swap and then on the mainline kernel (--kernel chooses one of them).
"""

import argparse
import contextlib
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from vswaplab import paths
from vswaplab.bench import kernels
from vswaplab.bench.kernels import Choice
from vswaplab.build import config, workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import UsageError
from vswaplab.guest import GuestSpec, parse_swap
from vswaplab.guest.spec import CGROUPS, CPUS_DEFAULT, CPUS_MAX, GRACE, MODES
from vswaplab.options import number
from vswaplab.progress import shown
from vswaplab.run import demo, hostprogram, runlog
from vswaplab.run.follow import run_one
from vswaplab.run.report import Report, checked_verdict, own_verdict, sentence, table, to_json
from vswaplab.run.resultsdir import ResultsDir
from vswaplab.units import format_size, parse_size

KERNELS = ("vswap", "mainline")
POOL_PERCENT = 90  # where zswap is all there is; in front of a device it is a cache
TIMEOUT = 600.0  # seconds

EPILOG = f"""
The result of COMMAND is its exit code. "verified" is said of swapcheck and of the Redis client only,
which compare every byte; in the JSON it is null for other programs. The working set of COMMAND is the
most anonymous and shared memory there was, in RAM or swapped, above what the machine had before. The
peak is the moment with most slots in use. On the mainline kernel all slots are a device's, and
metadata is not counted.

zswap's pool may take {POOL_PERCENT} % of the memory without a swap device, where there is nothing else, and
what the kernel says, 20 %, in front of one, where it is a cache. The table shows it ("pool limit").
To compare machines with and without a device, give both the same --pool.

With --scratch {hostprogram.SCRATCH} is a disk: ext4 (ext2 on kernels without it), in a sparse file in $TMPDIR,
removed at the end. For programs that write to $TMPDIR: ... -- env TMPDIR={hostprogram.SCRATCH} COMMAND.
--results hands back regular files, directories and links, whatever COMMAND returned. When the time is
over COMMAND is killed, and what it left is handed back; that may take {GRACE:.0f} s, or longer while data
comes. DIR is unchanged if the machine did not get to send everything.

Exit codes: 0 COMMAND returned 0, or verified; 1 the workload failed, was not verified, or the kernel
complained (WARN, BUG, lockdep, KASAN, leak, stall ...); 2 usage; 3 the machine was lost or out of time.
The kernels' logs of the last {runlog.KEEP} runs are in {runlog.directory()}.
"""


def _seconds(text: str) -> float:
    """The time limit: infinity for "none" and 0."""
    try:
        seconds = math.inf if text == "none" else float(text)
    except ValueError as error:
        raise UsageError(f"--timeout: neither a number of seconds nor none: {text!r}") from error
    return seconds or math.inf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap run"."""
    add = parser.add_argument
    names = ", ".join(config.KERNELS)
    add(
        "--kernel", metavar="KERNEL",
        help=f"{names}, or NAME=PATH: a directory of patches for the base, a kernel source tree, or an image"
        " (default: vswap; without COMMAND: vswap and mainline, one after the other)",
    )  # fmt: skip
    add("--arch", choices=config.ARCHES, default="um", help="User-Mode Linux or QEMU (default: um)")
    add("--flavour", choices=config.FLAVOURS, default="release", help="default: release")
    add("--mem", metavar="SIZE", default="256M", help="the machine's memory (default: 256M)")
    most = ", ".join(f"{arch}: {count}" for arch, count in CPUS_MAX.items())
    add("--cpus", metavar="N", type=number, help=f"processors (default: {CPUS_DEFAULT}; at most {most})")
    devices = "none, file:SIZE, zram:SIZE or ram:SIZE, which is a ramdisk (default: none)"
    add("--swap", metavar="DEVICE", default="none", help=devices)
    add("--zswap", choices=("on", "off"), default="on", help="compressed swap in RAM (default: on)")
    add("--compressor", metavar="NAME", help="of zswap and zram: lzo, lz4, zstd ... (default: the kernel's)")
    add(
        "--pool", metavar="PERCENT", type=number,
        help=f"of the memory that zswap may take (default: {POOL_PERCENT}; with a swap device the kernel's, 20)",
    )  # fmt: skip
    add("--mode", choices=MODES, default="auto", help="when to use virtual slots (default: auto; not on mainline)")
    add(
        "--cgroup", metavar="VERSION", type=number, choices=CGROUPS, default=2,
        help="of the hierarchy in /sys/fs/cgroup: 1, with a directory for each controller, or 2 (default: 2)",
    )  # fmt: skip
    scratch = f"a disk for what COMMAND writes, mounted at {hostprogram.SCRATCH} ($SCRATCH says so)"
    add("--scratch", metavar="SIZE", help=f"{scratch} (default: none)")
    add(
        "--timeout", metavar="SECONDS", type=_seconds, default=TIMEOUT,
        help=f"for each machine; none or 0: no limit (default: {TIMEOUT:.0f})",
    )  # fmt: skip
    add("--json", metavar="FILE", help="write the results there")
    add("--results", metavar="DIR", help="what COMMAND wrote into the directory $RESULTS; DIR is new or empty")
    add("command", metavar="COMMAND...", nargs=argparse.REMAINDER, help="a program of this host and its arguments")
    parser.usage = f"{parser.prog} [OPTIONS] [-- COMMAND...]"
    parser.epilog = EPILOG


def _spec(args: argparse.Namespace, kernel: BuiltKernel) -> GuestSpec:
    pool = POOL_PERCENT if args.pool is None and args.swap == "none" else args.pool
    # boot() tells the mode to the lab's own kernel; others that know it may be the user's.
    known = kernel.kernel in config.KERNELS or args.mode == "auto"
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
        extra_cmdline=[] if known else [f"vswap={args.mode}"],
        cgroup=args.cgroup,
        scratch=parse_size(args.scratch) // 4096 * 4096 if args.scratch is not None else 0,
        scratch_mounted=args.scratch is not None,
    )


def _check_room(spec: GuestSpec) -> None:
    """Raise UsageError for a scratch disk that the host has no room for; a sparse file may become full."""
    swap = parse_swap(spec.swap)
    wanted = spec.scratch + (swap.bytes if swap.kind == "file" else 0)
    where = tempfile.gettempdir()
    free = shutil.disk_usage(where).free
    if spec.scratch and wanted > free:
        disks = "disks" if wanted > spec.scratch else "a disk"
        raise UsageError(f"{disks} of {format_size(wanted)} and {format_size(free)} free in {where}; set TMPDIR")


def _check(args: argparse.Namespace, own: bool) -> None:
    """Everything that can be wrong, before anything is built. ``own``: there is a COMMAND."""
    nothing = Path()
    spec = _spec(args, BuiltKernel("vswap", args.arch, args.flavour, nothing, nothing, nothing, ""))
    spec.check()
    for option, value in (("--scratch", args.scratch), ("--results", args.results)):
        if value is not None and not own:
            raise UsageError(f"{option} is for a COMMAND of yours; the demonstration writes nothing")
    _check_room(spec)
    if args.results is not None:
        ResultsDir(Path(args.results)).check()
    if args.json is not None:
        target = Path(args.json)
        if target.is_dir() or not os.access(target.absolute().parent, os.W_OK):
            raise UsageError(f"cannot write to {args.json}")


def _build(args: argparse.Namespace, choice: Choice) -> BuiltKernel:
    with shown() as progress:
        return kernels.get(choice, args.arch, args.flavour, progress=progress)


def _write_json(args: argparse.Namespace, reports: Sequence[Report]) -> None:
    """The first report; in a demonstration the others are in "runs", the first included."""
    if args.json is None:
        return
    content = to_json(reports[0])
    if len(reports) > 1:
        content["runs"] = [to_json(report) for report in reports]
    data = (json.dumps(content, indent=2) + "\n").encode()
    paths.write_output(Path(args.json), data)


def _own_program(args: argparse.Namespace, argv: Sequence[str]) -> demo.Program:
    own, cwd, scratch = workloads.build(), Path.cwd(), args.scratch is not None
    text = hostprogram.script(argv, cwd, os.environ, own, scratch)
    path = hostprogram.find_program(argv[0], cwd, os.environ.get("PATH", os.defpath), own, scratch)
    verdict = checked_verdict if path == own / "swapcheck" else own_verdict
    return demo.Program(Path(argv[0]).name, lambda _mem: text, verdict)


def _show(args: argparse.Namespace, reports: Sequence[Report], judged: Sequence[Report]) -> None:
    """Table and JSON, and where to look if one of ``judged`` failed."""
    sys.stdout.flush()
    console = Console()
    console.print(table(reports))
    if len(reports) > 1:
        for report in reports:
            console.print(sentence(report), highlight=False)
    for report in reports:
        if races := report.result.other_races:
            where = f"{report.title} on {report.spec.kernel.kernel}"
            print(f"{where}: {sum(races.values())} data races elsewhere in the kernel: {report.console}")
    for report in judged:
        if not report.good:
            print(f"log of the kernel ({report.title} on {report.spec.kernel.kernel}): {report.console}")
    _write_json(args, reports)


def _code(judged: Sequence[Report]) -> int:
    """0, or the first failure, raised."""
    for report in judged:
        if failure := report.failure():
            raise failure
    return 0


def _judged(args: argparse.Namespace, reports: Sequence[Report]) -> list[Report]:
    """Side by side, mainline is there to fail."""
    return [report for report in reports if args.kernel or report.spec.kernel.kernel == "vswap"]


def _demonstrate(args: argparse.Namespace, choices: Sequence[Choice]) -> int:
    programs = demo.programs(workloads.build())
    specs = [_spec(args, _build(args, choice)) for choice in choices]
    reports: list[Report] = []
    try:
        for program in programs:
            for spec in specs:
                reports.append(run_one(spec, program, True))
    except KeyboardInterrupt:
        if reports:
            _show(args, reports, _judged(args, reports))
        raise
    judged = _judged(args, reports)
    _show(args, reports, judged)
    return _code(judged)


def _run_command(args: argparse.Namespace, argv: Sequence[str], choice: Choice) -> int:
    program = _own_program(args, argv)
    spec = _spec(args, _build(args, choice))
    with contextlib.ExitStack() as stack:
        results = stack.enter_context(ResultsDir(Path(args.results))) if args.results is not None else None
        if results:
            spec = replace(spec, results=results.collected)
        report = run_one(spec, program, False)
        came = report.result.results_came
        if results and came:
            results.keep()
        _show(args, [report], [report])
        if results and not came:
            print(f"vswap: {args.results}: no results, the machine did not get to its end", file=sys.stderr)
        elif results and report.result.status != "ok":
            print(f"vswap: {args.results}: what there was when COMMAND was ended", file=sys.stderr)
        return _code([report])


def main(args: argparse.Namespace) -> int:
    """Run the demonstration or the user's command; see the module's text for the exit codes."""
    argv = args.command[1:] if args.command[:1] == ["--"] else args.command
    _check(args, bool(argv))
    choices = [kernels.one(args.kernel)] if args.kernel is not None else kernels.choose(KERNELS, [])
    if not argv:
        return _demonstrate(args, choices)
    return _run_command(args, argv, choices[0])
