# SPDX-License-Identifier: GPL-2.0
"""vswapctl status"""

import argparse

from vswapctl import cgroups, rates, snapshot
from vswapctl.errors import OK
from vswapctl.kernel import Kernel


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Print one snapshot; with an interval, the rates up to it."""
    snapshot.read_meminfo(kernel)  # complain before waiting
    measured = rates.measure(kernel, args.interval) if args.interval else None
    snap = snapshot.take(kernel, debug=True, cgroups=cgroups.mount_point(kernel), contiguous=True)
    if args.json:
        from vswapctl import jsontext
        from vswapctl.facts import gather

        print(jsontext.dumps(gather(snap, kernel.denied, measured)))
    else:
        from vswapctl.statustext import whole

        print(whole(snap, kernel.denied, measured))
    return OK
