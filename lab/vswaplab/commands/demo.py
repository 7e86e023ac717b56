# SPDX-License-Identifier: GPL-2.0
"""Run the same work on mainline, on zram and on virtual swap; write a page that replays it.

Three machines of the same memory, one after the other: mainline with zswap and the swap file it
cannot do without, mainline with zram, and virtual swap with zswap and no device. In each of them
swapcheck fills twice the memory with data and verifies it, then redis-server is loaded with one and a
half times the memory, and every value is read back. Eight times a second the machines' counters are
recorded.

vswap demo --html FILE                       run it, and write the page
vswap demo --html FILE --json RECORD         keep the record as well
vswap demo --html FILE --from RECORD         the page of an old record; nothing is run
"""

import argparse
import math
import sys
from pathlib import Path

from rich.console import Console

from vswaplab import paths
from vswaplab.bench import kernels
from vswaplab.bench.setup import ROOMY
from vswaplab.build import config, workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.commands.bench import check_target
from vswaplab.demo import page, record, work
from vswaplab.demo.machines import COMPRESSOR, MACHINES, Machine, spec
from vswaplab.demo.record import Record
from vswaplab.errors import UsageError
from vswaplab.progress import shown
from vswaplab.run import demo
from vswaplab.run.follow import run_one
from vswaplab.run.report import Report, sentence, table
from vswaplab.units import format_size, parse_size

FLAVOUR = "release"
MEM = "256M"
TIMEOUT = 900.0  # seconds

EPILOG = f"""
The page is one file: no network, no other files. Compressed data may take {ROOMY} % of the memory in each
machine. What a machine did not get to is not on the page, which says why instead.

Exit codes: 0 virtual swap verified its data, whatever mainline did; 1 it did not, or its kernel
complained; 2 usage; 3 its machine was lost or out of time.
"""


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}") from error
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"not a positive number of seconds: {text!r}")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap demo"."""
    add = parser.add_argument
    add("--html", metavar="FILE", help="write the page")
    add("--json", metavar="FILE", help="write the record")
    add("--from", metavar="RECORD", dest="source", type=Path, help="a record of --json; nothing is run")
    add("--mem", metavar="SIZE", help=f"memory of each machine (default: {MEM})")
    add("--arch", choices=config.ARCHES, help="User-Mode Linux or QEMU (default: um)")
    add("--compressor", metavar="NAME", help=f"of zswap and zram: lzo, lz4, zstd (default: {COMPRESSOR})")
    add("--timeout", metavar="SECONDS", type=_seconds, help=f"for each machine (default: {TIMEOUT:.0f})")
    parser.epilog = EPILOG


def _settings(args: argparse.Namespace) -> tuple[int, str, str, float]:
    """Memory in bytes, architecture, compressor, seconds."""
    return (
        parse_size(args.mem or MEM), args.arch or "um", args.compressor or COMPRESSOR, args.timeout or TIMEOUT
    )  # fmt: skip


def _check(args: argparse.Namespace) -> None:
    """Everything that can be wrong, before anything is built. Raises UsageError."""
    for target in (args.html, args.json):
        check_target(target)
    for option, other in (("--json", args.json), ("--from", args.source)):
        if args.html is not None and other is not None and Path(args.html).resolve() == Path(other).resolve():
            raise UsageError(f"--html and {option} are the same file: {args.html}")
    if args.source is not None:
        if args.html is None:
            raise UsageError("--from RECORD makes a page: --html FILE says where")
        given = ("--json", args.json), ("--mem", args.mem), ("--arch", args.arch)
        more = ("--compressor", args.compressor), ("--timeout", args.timeout)
        for option, value in (*given, *more):
            if value is not None:
                raise UsageError(f"{option} is for a run; --from runs nothing")
        return
    mem, arch, compressor, timeout = _settings(args)
    nothing = Path()
    for machine in MACHINES:
        kernel = BuiltKernel(machine.kernel, arch, FLAVOUR, nothing, nothing, nothing, "")
        spec(machine, kernel, mem, compressor, timeout).check()


def _built(arch: str) -> dict[str, BuiltKernel]:
    names = list(dict.fromkeys(machine.kernel for machine in MACHINES))
    found = {}
    for choice in kernels.choose(names, []):
        with shown() as progress:
            found[choice.name] = kernels.get(choice, arch, FLAVOUR, progress=progress)
    return found


def _run(args: argparse.Namespace) -> tuple[Record, list[tuple[Machine, Report]]]:
    """The record, and what is to be shown."""
    mem, arch, compressor, timeout = _settings(args)
    programs = demo.programs(workloads.build())
    built = _built(arch)
    reports = []
    for machine in MACHINES:
        guest = spec(machine, built[machine.kernel], mem, compressor, timeout)
        program = work.program(programs, machine.name, machine.setup == "zram")
        reports.append((machine, run_one(guest, program, True)))
    lines = [
        f"swapcheck fills {format_size(mem * demo.SWAPCHECK_TIMES)} of memory with data that compresses 3:1,"
        " and verifies every byte, twice",
        f"redis-server is loaded with {format_size(mem * demo.REDIS_TIMES)} of values, a fifth of which does not"
        " compress, and every value is read back and compared",
    ]
    machines = [record.recorded(machine, report, ROOMY) for machine, report in reports]
    return record.record(arch, FLAVOUR, lines, machines), reports


def _code(reports: list[tuple[Machine, Report]]) -> int:
    """0, or what is wrong with virtual swap, raised: mainline may fail, and the page says so."""
    for machine, report in reports:
        failure = report.failure()
        if failure and not machine.on_mainline:
            raise failure
    return 0


def main(args: argparse.Namespace) -> int:
    """Run the machines or read a record, and write what was asked for."""
    _check(args)
    if args.source is not None:
        found = record.read(args.source)
        paths.write_output(Path(args.html), page.page(found).encode())
        return 0
    found, reports = _run(args)
    sys.stdout.flush()
    console = Console()
    console.print(table([report for _, report in reports]))
    for machine, report in reports:
        console.print(sentence(report), highlight=False)
        if not report.good:
            print(f"log of the kernel ({machine.name}): {report.console}")
    if args.json:
        record.write(Path(args.json), found)
    if args.html:
        paths.write_output(Path(args.html), page.page(found).encode())
    return _code(reports)
