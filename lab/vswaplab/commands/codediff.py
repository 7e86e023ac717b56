# SPDX-License-Identifier: GPL-2.0
"""List the functions of the edited files whose compiled code differs from mainline's, or show one's code."""

import argparse
import difflib
from collections.abc import Iterable

from vswaplab.build import config, disasm, edited
from vswaplab.build.disasm import Difference
from vswaplab.progress import shown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap codediff"."""
    parser.add_argument("function", nargs="*", help="show how the code of these differs (default: list all)")
    parser.add_argument(
        "--kernel", choices=config.KERNELS, default="vswap-off", help="whose code (default: vswap-off)"
    )
    parser.add_argument("--arch", choices=config.ARCHES, default="um", help="default: um")
    parser.add_argument("--context", type=int, default=8, help="lines around what differs (default: 8)")


def _described(found: Difference) -> str:
    if found.ours is None:
        return "in mainline only"
    if found.base is None:
        return f"not in mainline ({len(found.ours)} lines)"
    changed = [line for line in difflib.ndiff(found.base, found.ours) if line[:1] in "+-"]
    return f"{len(changed)} lines of {len(found.base)}"


def _diff(found: Difference, context: int) -> Iterable[str]:
    name = f"{found.source}: {found.function}"
    return difflib.unified_diff(
        found.base or (), found.ours or (), f"mainline {name}", f"ours {name}", n=context, lineterm=""
    )


def main(args: argparse.Namespace) -> int:
    """Print a line for each function, or a diff. 1 if a function that was asked for does not differ."""
    with shown() as progress:
        found = disasm.differences(*edited.objects(args.kernel, args.arch, progress))
    for item in found:
        if not args.function:
            print(f"{item.source}: {item.function}: {_described(item)}")
        elif item.function in args.function:
            print("\n".join(_diff(item, args.context)))
    return int(not set(args.function) <= {item.function for item in found})
