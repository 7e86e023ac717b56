# SPDX-License-Identifier: GPL-2.0
"""Build kernels. One that was built from the same inputs before is not built again."""

import argparse
import time

from vswaplab.build import config, kbuild
from vswaplab.progress import shown
from vswaplab.units import format_seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap build"."""
    parser.add_argument(
        "--kernel", choices=config.KERNELS, default="vswap",
        help="ours, the pristine base, or ours with CONFIG_VSWAP=n (default: vswap)",
    )  # fmt: skip
    parser.add_argument("--arch", choices=config.ARCHES, default="um", help="default: um")
    parser.add_argument("--flavour", choices=config.FLAVOURS, default="release", help="default: release")
    parser.add_argument("--all", action="store_true", help="every kernel, arch and flavour")
    parser.add_argument("--jobs", "-j", type=int, default=0, help="compilers at a time (default: one per CPU)")
    parser.add_argument("--clean", action="store_true", help="remove all build trees instead")


def main(args: argparse.Namespace) -> int:
    """Build, and print one line per kernel."""
    if args.clean:
        kbuild.clean()
        return 0
    wanted = [(args.kernel, args.arch, args.flavour)]
    if args.all:
        wanted = [
            (kernel, arch, flavour)
            for kernel in config.KERNELS
            for arch in config.ARCHES
            for flavour in config.FLAVOURS
            if config.exists(arch, flavour)
        ]
    for names in wanted:
        start = time.monotonic()
        with shown() as progress:
            built = kbuild.build(*names, jobs=args.jobs, progress=progress)
        print(f"{built.name}: {built.image} ({built.release}, {format_seconds(time.monotonic() - start)})")
    return 0
