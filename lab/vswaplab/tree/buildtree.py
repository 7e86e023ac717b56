# SPDX-License-Identifier: GPL-2.0
"""Source trees to build in: the pristine files shared by hard links, ours written over them.

``$cache/build/TREE/`` is one; kernels are built in directories directly inside it, because
kbuild then uses relative paths ("..") and ccache finds in one tree what another compiled.
A file is written only when its content changes, so that make rebuilds just what an edit needs.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vswaplab import paths
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.series import stored
from vswaplab.source import linux
from vswaplab.tree import overlay
from vswaplab.tree.overlay import Content, Overlay, read_content

_STATE = ".vswap-tree.json"  # the base's checksum and the names that differ from it
_MARK = ".vswap-identity"  # what the tree is now; missing while that changes


@dataclass(frozen=True)
class Tree:
    """A source tree to build in, and the checksum of everything it was made from."""

    path: Path
    identity: str


def _link_tree(source: Path, target: Path) -> None:
    """Copy a directory tree by hard links; a real copy where links are impossible."""

    def link(old: str, new: str) -> None:
        try:
            os.link(old, new)
        except OSError:
            shutil.copy2(old, new)

    shutil.copytree(source, target, symlinks=True, copy_function=link, dirs_exist_ok=True)


def _put(tree: Path, name: str, content: Content | None) -> None:
    """Make ``tree/name`` be ``content``, or remove it for None; its time stays if it is equal.

    A file that goes back to the base's content is a copy with the current time, because its
    object files are newer than the base's own date.
    """
    target = tree / name
    if content is None:
        target.unlink(missing_ok=True)
        return
    if target.is_file() and read_content(target) == content:
        return
    paths.write_file(target, content.data, content.mode)


def _state(tree: Path) -> dict[str, object]:
    path = tree / _STATE
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def sync(tree: Path, base: Path, base_id: str, changes: Overlay) -> None:
    """Make ``tree`` the base plus ``changes``; made from nothing when the base is another one."""
    state = _state(tree)
    if state.get("base") != base_id:
        shutil.rmtree(tree, ignore_errors=True)
        with paths.atomic_dir(tree) as temporary:
            _link_tree(base, temporary)
        state = {}
    names = state.get("names")
    known = [str(name) for name in names] if isinstance(names, list) else []
    # Names first, so that an interrupted update still knows what it may have touched.
    record = {"base": base_id, "names": sorted({*known, *changes})}
    if record != state:
        paths.write_file(tree / _STATE, json.dumps(record).encode())
    for name in sorted({*known, *changes}):
        original = base / name
        wanted = changes[name] if name in changes else None
        if name not in changes and original.is_file():
            wanted = read_content(original)
        _put(tree, name, wanted)
    record["names"] = sorted(changes)
    if record != _state(tree):
        paths.write_file(tree / _STATE, json.dumps(record).encode())


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _is(tree: Tree) -> bool:
    mark = tree.path / _MARK
    return mark.is_file() and mark.read_text() == tree.identity


@contextlib.contextmanager
def kept(tree: Tree) -> Iterator[bool]:
    """Keep a prepared tree as it is: another checkout, with other sources, waits until the with block ends.

    Gives False if one has come before and the tree is no longer what it was.
    """
    with paths.locked(_lock(tree.path), shared=True):
        yield _is(tree)


@contextlib.contextmanager
def prepared(prepare: Callable[[], Tree]) -> Iterator[Tree]:
    """The tree that ``prepare`` gives, which stays so until the with block ends; see kept().

    Another checkout may make it its own between the two: then it is prepared once more.
    """
    while True:
        tree = prepare()
        with kept(tree) as same:
            if same:
                yield tree
                return


def prepared_tree(
    name: str,
    flavour: str,
    found: linux.Source,
    edits: str,
    changes: Callable[[Path], Overlay],
    *,
    shown: str = "",
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> Tree:
    """The tree $cache/build/NAME: the base ``found`` with ``changes`` in it, left alone if it is that already.

    ``edits`` is a checksum over all that the changes are made from: they are asked for, with the
    pristine base, only when it differs. ``shown`` is what the progress calls the tree, if not by its
    name. The flavour "bench" has a tree of its own, NAME-bench, with the in-kernel benchmark on top.
    Raises SourceError, TreeError and what ``changes`` raises.
    """
    bench = paths.bench_kernel_dir() if flavour == "bench" else None
    if bench:
        edits += f"-{overlay.content_hash(bench)}"
        name += "-bench"
    path = paths.cache_dir() / "build" / name
    tree = Tree(path, f"{found.sha256}-{edits}")
    with kept(tree) as same:
        if same:
            return tree
    mark = path / _MARK
    with paths.locked(_lock(path)):
        if _is(tree):
            return tree
        base = linux.pristine(found, runner=runner, progress=progress)
        (progress or Silent()).update(f"preparing the {shown or name} tree")
        wanted = changes(base)
        if bench:
            wanted = overlay.render(bench, base, wanted, runner)
        mark.unlink(missing_ok=True)
        sync(path, base, found.sha256, wanted)
        paths.write_file(mark, tree.identity.encode())
    return tree


def source_tree(
    kernel: str, flavour: str = "release", *, runner: Runner = SYSTEM, progress: Progress | None = None
) -> Tree:
    """The source tree for a kernel, up to date with patches/ and kernel/.

    "mainline" is the base with stored.BASE_TOPIC and nothing else; see prepared_tree() for the flavour "bench".
    Raises SourceError and TreeError.
    """
    name, topics = ("mainline", (stored.BASE_TOPIC,)) if kernel == "mainline" else ("vswap", None)
    found = linux.fetch(verify=False, runner=runner, progress=progress)
    store = stored.ours()
    return prepared_tree(
        name,
        flavour,
        found,
        stored.effect_hash(store, topics),
        lambda base: stored.render(store, base, topics=topics, runner=runner),
        runner=runner,
        progress=progress,
    )
