# SPDX-License-Identifier: GPL-2.0
"""vswapctl setup"""

import argparse
import os
import sys

from vswapctl import bootconf
from vswapctl.errors import OK, PARTLY, CannotRead
from vswapctl.kernel import Kernel

SWITCH_ON = bootconf.Change("enabled", "N", "Y")


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Apply the configuration file, or take back what was applied; a line for each change."""
    if args.undo:
        changes = bootconf.changes_back(kernel)
    else:
        # Of another machine's files, all names begin at its root.
        config = os.path.abspath(args.config) if kernel.root == "/" else args.config
        changes = bootconf.changes(kernel, bootconf.read(kernel, config))
        if SWITCH_ON in changes and bootconf.swaps_to_zram(kernel):
            changes.remove(SWITCH_ON)
            print(
                "vswapctl: zswap stays off: swap is on zram, which would compress again what leaves zswap; "
                "take zram away first, see vswapctl doctor",
                file=sys.stderr,
            )
    if not changes:
        print("nothing to change")
    if args.dry_run:
        for change in changes:
            print(f"{change.name}: {change.before} -> {change.after}")
        return OK
    errors = bootconf.undo(kernel, changes) if args.undo else bootconf.apply(kernel, changes)
    for change in changes:
        failed = errors.get(change.name)
        print(f"{change.name}: " + (f"not set to {change.after}: {failed}" if failed else change.after))
    if any(error == bootconf.NEEDS_ROOT for error in errors.values()):
        raise CannotRead(f"changing settings needs root: sudo vswapctl setup{' --undo' if args.undo else ''}")
    return PARTLY if errors else OK
