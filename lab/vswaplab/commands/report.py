# SPDX-License-Identifier: GPL-2.0
"""Render a run of "vswap bench" again, compare two runs, or write the pages of all results.

vswap report A.json --html FILE    the page for one run
vswap report A.json B.json         what became better or worse from A to B, for each kernel
vswap report --results             docs/results.md and the figures in README.md and docs/comparison.md,
                                   from docs/bench/*.json
vswap report --reliability         docs/reliability.md, from docs/reliability/*.json
"""

import argparse
from pathlib import Path

from vswaplab import paths
from vswaplab.bench import compare, display, html, resultspage
from vswaplab.bench.document import read_json
from vswaplab.commands.bench import check_target
from vswaplab.errors import UsageError
from vswaplab.stress import page as reliability


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap report"."""
    parser.add_argument("file", metavar="A.json", type=Path, nargs="?", help="written by vswap bench --json")
    parser.add_argument("second", metavar="B.json", type=Path, nargs="?", help="another run, to compare with")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument(
        "--results",
        action="store_true",
        help=f"write what {resultspage.DECLARATION} declares, and the figures in docs/comparison.md",
    )
    parser.add_argument(
        "--reliability", action="store_true", help=f"write {reliability.PAGE} from what vswap stress recorded"
    )


def _write_reliability() -> None:
    """Write the page if it differs from the records."""
    root = paths.repo_root()
    if reliability.outdated(root):
        paths.write_file(root / reliability.PAGE, reliability.written(root).encode())
        print(f"{reliability.PAGE} written")


def _write_results() -> None:
    """Write the pages that differ from the reports, and name them."""
    root = paths.repo_root()
    wanted = resultspage.pages(root)
    for path in resultspage.outdated(root):
        paths.write_file(root / path, wanted[path].encode())
        print(f"{path} written")


def main(args: argparse.Namespace) -> int:
    """Print a table; write the page if one is asked for."""
    if args.results or args.reliability:
        if args.file or args.html:
            raise UsageError("--results and --reliability take no file: they read what docs/ has")
        if args.results:
            _write_results()
        if args.reliability:
            _write_reliability()
        return 0
    if args.file is None:
        raise UsageError("a report is needed, written by vswap bench --json; or --results, or --reliability")
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
