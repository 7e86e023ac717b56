# SPDX-License-Identifier: GPL-2.0
"""Get the kernel source the project is based on (any 7.3.y) and keep it in the cache.

It comes from Debian's linux-source package, verified by apt, or from kernel.org, verified by
checksum. VSWAP_LINUX_TARBALL=/path/to/linux-7.3.y.tar.xz is used instead of both.
"""

import argparse

from vswaplab.progress import shown
from vswaplab.source import linux


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap fetch"."""
    parser.add_argument("--update", action="store_true", help="look for a newer point release")


def main(args: argparse.Namespace) -> int:
    """Fetch, and say what is there."""
    with shown() as progress:
        found = linux.fetch(update=args.update, progress=progress)
    print(f"Linux {found.version}: {found.path}")
    return 0
