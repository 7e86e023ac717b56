# SPDX-License-Identifier: GPL-2.0
"""Count the lines changed in files of the base kernel, and the lines of our own files."""

import argparse
import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from vswaplab import paths
from vswaplab.errors import TreeError
from vswaplab.tree import footprint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap footprint"."""
    parser.add_argument("--json", action="store_true", help="print the four totals as JSON")


def main(args: argparse.Namespace) -> int:
    """Print a table, or JSON."""
    kernel = paths.kernel_dir()
    if not kernel.is_dir():
        raise TreeError(f"there is no {kernel}")
    total = footprint.footprint(kernel)
    if args.json:
        print(json.dumps(asdict(total)))
        return 0
    table = Table("file in kernel/", "lines")
    table.columns[1].justify = "right"
    lines = footprint.per_file(kernel)
    for patches in (True, False):
        for name, count in lines.items():
            if name.endswith(".patch") is patches:
                table.add_row(name, str(count))
        label = "changed lines, edited files of the base" if patches else "lines, files of our own"
        files = total.patched_files if patches else total.own_files
        count = total.patched_lines if patches else total.own_lines
        table.add_section()
        table.add_row(f"{files} files: {label}", str(count), style="bold")
        table.add_section()
    for purpose, count in footprint.by_purpose(lines).items():
        table.add_row(f"edits for: {purpose}", str(count))
    Console().print(table)
    return 0
