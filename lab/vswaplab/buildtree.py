# SPDX-License-Identifier: GPL-2.0
"""Source trees to build in: the pristine files shared by hard links, ours written over them.

``$cache/build/TREE/`` is one; kernels are built in directories directly inside it, because
kbuild then uses relative paths ("..") and ccache finds in one tree what another compiled.
A file is written only when its content changes, so that make rebuilds just what an edit needs.
"""

import json
import os
import shutil
from pathlib import Path

from vswaplab import paths
from vswaplab.overlay import Content, Overlay, read_content

_STATE = ".vswap-tree.json"  # the base's checksum and the names that differ from it


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


def sync(tree: Path, base: Path, base_id: str, overlay: Overlay) -> None:
    """Make ``tree`` the base plus ``overlay``; made from nothing when the base is another one."""
    state = _state(tree)
    if state.get("base") != base_id:
        shutil.rmtree(tree, ignore_errors=True)
        with paths.atomic_dir(tree) as temporary:
            _link_tree(base, temporary)
        state = {}
    names = state.get("names")
    known = [str(name) for name in names] if isinstance(names, list) else []
    # Names first, so that an interrupted update still knows what it may have touched.
    record = {"base": base_id, "names": sorted({*known, *overlay})}
    if record != state:
        paths.write_file(tree / _STATE, json.dumps(record).encode())
    for name in sorted({*known, *overlay}):
        original = base / name
        wanted = overlay[name] if name in overlay else None
        if name not in overlay and original.is_file():
            wanted = read_content(original)
        _put(tree, name, wanted)
    record["names"] = sorted(overlay)
    if record != _state(tree):
        paths.write_file(tree / _STATE, json.dumps(record).encode())
