# SPDX-License-Identifier: GPL-2.0
"""Say which functions of the kernel take a page's instructions, and how that differs from mainline.

Prints instructions and calls per page, mainline's first. Runs the benchmark inside the kernel, as
"vswap bench icount" does, in a guest of QEMU with one CPU, and counts every instruction of the kernel
from its start to its end, by function. "Per page" is per call of folio_alloc_swap(): some pages are
read again, others are only freed.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from vswaplab import paths
from vswaplab.bench import kernels, round, setup
from vswaplab.bench.case import Case, Options
from vswaplab.bench.document import write_json
from vswaplab.bench.kernels import Kernel
from vswaplab.build import config, workloads
from vswaplab.errors import ToolError
from vswaplab.guest import GuestResult, GuestSpec, boot
from vswaplab.options import number
from vswaplab.profile import functions, plugin
from vswaplab.profile.functions import Function
from vswaplab.progress import Progress, shown

PAGE = "folio_alloc_swap"  # called once for each page that is swapped out
ARCH = "x86_64"

Profile = dict[str, Function]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap profile"."""
    names = [found.name for found in setup.SETUPS]
    parser.add_argument("--setup", choices=names, default="zswap", help="where pages go (default: zswap)")
    parser.add_argument(
        "--kernel", choices=config.KERNELS, default="vswap", help="compared with mainline (default: vswap)"
    )
    parser.add_argument("--top", type=number, default=30, metavar="N", help="functions to show (default: 30)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all functions")


def measured(name: str, where: str, progress: Progress) -> Profile:
    """Boot a kernel with the plugin. Raises ToolError if the guest did not do its work."""
    built = kernels.get(kernels.Choice(name, "lab"), ARCH, "bench", progress=progress)
    progress.update(f"{name}: the guest")
    case, kernel = Case("icount", where, "none"), Kernel(built, vswap=name == "vswap")
    with paths.scratch_dir() as scratch:
        counts = scratch / "counts"
        words = (str(plugin.build()), f"out={counts}")

        def counted(spec: GuestSpec) -> GuestResult:
            return boot(replace(spec, plugin=words))

        outcome = round.run(case, kernel, Options(cpus=1, arch=ARCH), workloads.build(), counted)
        if outcome.status != "ok":
            raise ToolError(f"the guest of {name} failed ({outcome.status}): {outcome.reason}")
        with counts.open() as lines:
            found = functions.by_function(lines, functions.symbols(built.dir / "vmlinux"))
    if not found.get(PAGE, Function()).calls:
        raise ToolError(f"{name} has swapped nothing out")
    return found


def _shown(base: Profile, ours: Profile, top: int) -> Table:
    """The functions that differ most."""
    pages = [profile[PAGE].calls for profile in (base, ours)]
    empty = Function()

    def per_page(name: str) -> list[tuple[float, float]]:
        both = zip((base, ours), pages, strict=True)
        found = [(profile.get(name, empty), count) for profile, count in both]
        return [(function.instructions / count, function.calls / count) for function, count in found]

    first = Column("function", no_wrap=True, min_width=36)
    table = Table(first, "mainline", "ours", "more", "calls", "calls, ours")
    rows = {name: per_page(name) for name in {*base, *ours}}
    for name in sorted(rows, key=lambda name: -abs(rows[name][1][0] - rows[name][0][0]))[:top]:
        (before, calls_before), (after, calls_after) = rows[name]
        calls = (f"{calls_before:.2f}", f"{calls_after:.2f}")
        table.add_row(name, f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}", *calls)
    sums = [sum(row[at][0] for row in rows.values()) for at in (0, 1)]
    table.add_section()
    both = (f"{one:.0f}" for one in sums)
    table.add_row("whole kernel", *both, f"{sums[1] - sums[0]:+.0f}")
    return table


def main(args: argparse.Namespace) -> int:
    """Print a table of instructions and calls per page."""
    with shown() as progress:
        base, ours = (measured(name, args.setup, progress) for name in ("mainline", args.kernel))
    Console().print(_shown(base, ours, args.top))
    if args.json:
        content = {
            name: {function: [found.instructions, found.calls] for function, found in sorted(profile.items())}
            for name, profile in (("mainline", base), (args.kernel, ours))
        }
        write_json(content, args.json)
    return 0
