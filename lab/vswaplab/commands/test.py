# SPDX-License-Identifier: GPL-2.0
"""Build what the tests need and run them. Arguments it does not know go to pytest.

The kernels are built by the tests' own start-up (see tests/conftest.py), and only those that
the chosen tests boot. The last line printed is pytest's summary.
"""

import argparse
import os
import sys

from vswaplab import paths

REST = "pytest"  # the attribute that takes the arguments this command does not know


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap test"."""
    parser.add_argument("--long", action="store_true", help="run the tests that take minutes as well")
    parser.epilog = "Everything else goes to pytest: paths, -k, -x, --collect-only, ..."


def main(args: argparse.Namespace) -> int:
    """Become pytest, in the repository's top directory; its exit code is the command's."""
    argv = [sys.executable, "-m", "pytest", *(["--long"] if args.long else []), *args.pytest]
    os.chdir(paths.repo_root())
    sys.stdout.flush()
    os.execv(sys.executable, argv)
