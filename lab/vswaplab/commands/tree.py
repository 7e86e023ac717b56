# SPDX-License-Identifier: GPL-2.0
"""Make a kernel tree to work in, or bring the commits made there back into patches/ and kernel/.

  vswap tree                 make or refresh $cache/tree/vswap: a git repository, the base and then a
                             commit for each patch
  vswap tree --export        write its commits into patches/, and the files that they add into kernel/

To change a patch: git commit --fixup=COMMIT in the tree, then git rebase -i --autosquash base, then
export. A new commit with a trailer "Topic: NAME" is a new patch.
"""

import argparse
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import UsageError
from vswaplab.progress import Progress, shown
from vswaplab.series import stored
from vswaplab.source import linux
from vswaplab.tree import worktree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap tree"."""
    parser.add_argument("dir", metavar="DIR", nargs="?", type=Path, help="the tree (default: in the cache)")
    parser.add_argument(
        "--kernel", choices=("vswap", "mainline"), default="vswap", help="mainline: the base alone"
    )
    parser.add_argument("--export", action="store_true", help="write the tree's commits into patches/ and kernel/")
    parser.add_argument(
        "--from", dest="source", metavar="DIR", type=Path, help="the tree to export: its first commit is the base"
    )
    parser.add_argument(
        "--force", action="store_true",
        help="export although patches/ or kernel/ was changed, and committed, meanwhile",
    )  # fmt: skip


def _target(args: argparse.Namespace) -> Path:
    if args.source and args.dir:
        raise UsageError("which tree is to be exported: DIR, or that of --from?")
    named: Path | None = args.source or args.dir
    return named.absolute() if named else paths.cache_dir() / "tree" / str(args.kernel)


def _make(args: argparse.Namespace, progress: Progress) -> None:
    target = _target(args)
    found = linux.fetch(verify=False, progress=progress)
    base = linux.pristine(found, progress=progress)
    store = stored.ours() if args.kernel == "vswap" else None
    if store and (target / ".git").exists():
        worktree.refresh(base, found.version, target, store)
    elif not (target / ".git").exists():
        worktree.make(base, found.version, target, store, progress=progress)


def _check(args: argparse.Namespace) -> None:
    if args.source and not args.export:
        raise UsageError("--from goes with --export")
    if args.force and not args.export:
        raise UsageError("--force goes with --export")


def main(args: argparse.Namespace) -> int:
    """Do what the options say and print what was made."""
    _check(args)
    if args.export:
        for name in worktree.export_tree(_target(args), stored.ours(), force=args.force):
            print(name)
        return 0
    with shown() as progress:
        _make(args, progress)
    print(_target(args))
    return 0
