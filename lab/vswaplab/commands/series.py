# SPDX-License-Identifier: GPL-2.0
"""Write the patch series for a mailing list: complete patches, made from patches/ and kernel/.

DIR/mail/                  the whole series with its cover letter
DIR/topics/NN-TOPIC/       the same for each topic
DIR/squashed/              each topic as one patch, and all.patch, for git am and patch -p1
"""

import argparse
from pathlib import Path

from vswaplab.progress import shown
from vswaplab.series import mails, stored


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap series"."""
    parser.add_argument("dir", metavar="DIR", type=Path, help="a new or empty directory")
    parser.add_argument("--topic", metavar="NAME", default="", help="this topic only")
    parser.add_argument("--build", action="store_true", help="build the kernel after every patch first")


def main(args: argparse.Namespace) -> int:
    """Write them and print their names."""
    with shown() as progress:
        written = mails.write(
            args.dir.absolute(), stored.ours(), topic=args.topic, build_steps=args.build, progress=progress
        )
    for path in written:
        print(path)
    return 0
