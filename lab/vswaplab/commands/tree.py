# SPDX-License-Identifier: GPL-2.0
"""Make a kernel tree to work in, bring edits from it back into kernel/, or write a patch series.

  vswap tree                 make or refresh $cache/tree/vswap (a git repository: base, then ours)
  vswap tree --export        write the edits made in that tree back into kernel/
  vswap tree --series DIR    write the patches for a mailing list, ordered by kernel/SERIES
"""

import argparse
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import UsageError
from vswaplab.progress import Progress, shown
from vswaplab.series import cut
from vswaplab.source import linux
from vswaplab.tree import worktree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap tree"."""
    parser.add_argument("dir", metavar="DIR", nargs="?", type=Path, help="the tree (default: in the cache)")
    parser.add_argument(
        "--kernel", choices=("vswap", "mainline"), default="vswap", help="mainline: the base alone"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--export", action="store_true", help="write edits made in the tree back into kernel/")
    what.add_argument("--series", metavar="DIR", type=Path, help="write a patch series with a cover letter")
    parser.add_argument("--from", dest="source", metavar="DIR", type=Path, help="the tree to export")
    parser.add_argument("--force", action="store_true", help="export although kernel/ has changed meanwhile")
    parser.add_argument("--build", action="store_true", help="with --series: build every step of it")


def _target(args: argparse.Namespace) -> Path:
    named: Path | None = args.source or args.dir
    return named.absolute() if named else paths.cache_dir() / "tree" / str(args.kernel)


def _make(args: argparse.Namespace, progress: Progress) -> None:
    target = _target(args)
    found = linux.fetch(verify=False, progress=progress)
    base = linux.pristine(found, progress=progress)
    kernel = paths.kernel_dir() if args.kernel == "vswap" else None
    if kernel and (target / ".git").exists():
        worktree.refresh(base, target, kernel)
    elif not (target / ".git").exists():
        worktree.make(base, found.version, target, kernel, progress=progress)


def _check(args: argparse.Namespace) -> None:
    if args.build and not args.series:
        raise UsageError("--build goes with --series")
    if args.source and not args.export:
        raise UsageError("--from goes with --export")
    if args.force and not args.export:
        raise UsageError("--force goes with --export")


def main(args: argparse.Namespace) -> int:
    """Do what the options say and print what was made."""
    _check(args)
    if args.export:
        for name in worktree.export_tree(_target(args), paths.kernel_dir(), force=args.force):
            print(f"kernel/{name}")
        return 0
    if args.series:
        with shown() as progress:
            patches = cut.write(args.series.absolute(), build_steps=args.build, progress=progress)
        for path in patches:
            print(path)
        return 0
    with shown() as progress:
        _make(args, progress)
    print(_target(args))
    return 0
