# SPDX-License-Identifier: GPL-2.0
"""A user's kernel source tree, copied before it is built: nothing is ever written into it."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.tree.buildtree import Tree


def names(tree: Path, runner: Runner = SYSTEM) -> list[str]:
    """The source files: what git knows or would not ignore; in a tree without git, everything.

    Raises UsageError for a tree without git that something was built in.
    """
    if (tree / ".git").exists():
        argv = ["git", "-c", f"safe.directory={tree}", "ls-files", "-z", "-co", "--exclude-standard"]
        found = runner.run(argv, cwd=tree).stdout.split("\0")
        return sorted({name for name in found if name and os.path.lexists(tree / name)})
    if (tree / ".config").exists() or (tree / "include" / "generated").exists():
        raise UsageError(f"{tree.name} was built in and is no git repository; run make mrproper there")
    return sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if not path.is_dir())


def _facts(path: Path) -> tuple[int, int, int]:
    found = path.lstat()
    return found.st_mode, found.st_size, found.st_mtime_ns


def _copy_file(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    shutil.copy2(old, new, follow_symlinks=False)


@contextlib.contextmanager
def copied(
    tree: Path, target: Path, *, runner: Runner = SYSTEM, progress: Progress | None = None
) -> Iterator[Tree]:
    """Make ``target`` equal to the user's tree; files that did not change keep their time.

    What was built in ``target`` stays, so that make rebuilds only what an edit needs. Until the
    with block ends, nothing else is copied there.
    """
    found = names(tree, runner)
    identity = hashing.of_text("".join(f"{name}\0{_facts(tree / name)}\0" for name in found))
    with paths.locked(target.with_name(f".{target.name}.lock")):
        listed = target / ".vswap-names"
        before = set(listed.read_text().split("\0")) if listed.is_file() else set()
        (progress or Silent()).update(f"copying {tree.name}")
        target.mkdir(parents=True, exist_ok=True)
        # Names first, so that an interrupted copy still knows what it may have brought.
        paths.write_file(listed, "\0".join(sorted(before | set(found))).encode())
        for name in before - set(found) - {""}:
            (target / name).unlink(missing_ok=True)
        for name in found:
            new = target / name
            if not os.path.lexists(new) or _facts(new) != _facts(tree / name):
                _copy_file(tree / name, new)
        paths.write_file(listed, "\0".join(found).encode())
        yield Tree(target, identity)
