# SPDX-License-Identifier: GPL-2.0
"""Count the lines changed in files of the base kernel, and the lines of our own files."""

import argparse
import json

from rich.console import Console
from rich.table import Table

from vswaplab.progress import shown
from vswaplab.series import stored
from vswaplab.source import linux
from vswaplab.tree import footprint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap footprint"."""
    parser.add_argument("--json", action="store_true", help="print the four totals as JSON")


def main(args: argparse.Namespace) -> int:
    """Print a table, or JSON."""
    with shown() as progress:
        base = linux.pristine(linux.fetch(verify=False, progress=progress), progress=progress)
    found = footprint.footprint(stored.ours(), base)
    total = found.totals()
    if args.json:
        print(json.dumps(total))
        return 0
    table = Table("file", "lines")
    table.columns[1].justify = "right"
    for lines, kind, what in (
        (found.edited, "patched", "changed lines, edited files of the base"),
        (found.own, "own", "lines, files of our own"),
    ):
        for name, count in lines.items():
            table.add_row(name, str(count))
        table.add_section()
        table.add_row(f"{total[f'{kind}_files']} files: {what}", str(total[f"{kind}_lines"]), style="bold")
        table.add_section()
    for purpose, count in found.by_purpose().items():
        table.add_row(f"edits for: {purpose}", str(count))
    Console().print(table)
    return 0
