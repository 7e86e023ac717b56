# SPDX-License-Identifier: GPL-2.0
"""Render a run of "vswap bench" again, or compare two runs metric by metric.

vswap report A.json --html FILE    the page for one run
vswap report A.json B.json         what became better or worse from A to B, for each kernel
"""

import argparse
from pathlib import Path

from vswaplab import paths
from vswaplab.bench import compare, display, html
from vswaplab.bench.document import read_json
from vswaplab.commands.bench import check_target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap report"."""
    parser.add_argument("file", metavar="A.json", type=Path, help="written by vswap bench --json")
    parser.add_argument("second", metavar="B.json", type=Path, nargs="?", help="another run, to compare with")
    parser.add_argument("--html", metavar="FILE", help="write a page")


def main(args: argparse.Namespace) -> int:
    """Print a table; write the page if one is asked for."""
    check_target(args.html)
    content = read_json(args.file)
    if args.second is not None:
        content = compare.runs(content, read_json(args.second), args.file.stem, args.second.stem)
        for warning in compare.differences(content):
            print(f"note: {warning}")
    if args.html:
        paths.write_file(Path(args.html), html.page(content).encode())
    display.show_report(content)
    return 0
