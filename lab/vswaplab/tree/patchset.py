# SPDX-License-Identifier: GPL-2.0
"""Other people's patch series: a directory of patches, applied in order to a base without writing there."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from vswaplab import hashing, paths
from vswaplab.errors import UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.tree import gitapply
from vswaplab.tree.overlay import Overlay, read_content

_COVER = re.compile(r"(?:v\d+-)?0000-.*\.patch")


def patches(path: Path) -> list[Path]:
    """The patches of a directory in order of their names, cover letters left out; or the one file."""
    if path.is_file():
        return [path]
    return [file for file in sorted(path.glob("*.patch")) if not _COVER.fullmatch(file.name)]


def fragments(path: Path) -> list[Path]:
    """Configuration that comes with a series: *.config files beside its patches."""
    return sorted(path.glob("*.config")) if path.is_dir() else []


def content_hash(files: Sequence[Path]) -> str:
    """A checksum over the names and bytes of files."""
    return hashing.of_contents((file.name, file.read_bytes()) for file in files)


def _touched(patch: Path) -> list[str]:
    """The files of the tree that a patch is about, old names and new ones."""
    try:
        files = PatchSet(patch.read_text(errors="replace"))
    except UnidiffParseError as error:
        raise UsageError(f"{patch.name} is not a patch: {error}") from error
    both = (name for file in files for name in (file.source_file, file.target_file))
    names = dict.fromkeys(name[2:] for name in both if name.startswith(("a/", "b/")))
    if not names:
        raise UsageError(f"{patch.name} changes no file")
    if bad := [name for name in names if name.startswith("/") or ".." in Path(name).parts]:
        raise UsageError(f"{patch.name} changes {bad[0]}, which is not in a kernel tree")
    return list(names)


def _bring(name: str, scratch: Path, base: Path, fixes: Overlay) -> None:
    """The file as the patches find it, once."""
    target = scratch / name
    if name in fixes:
        if content := fixes[name]:
            paths.write_file(target, content.data, content.mode)
    elif (base / name).is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(base / name, target)


def applied(files: Sequence[Path], base: Path, fixes: Overlay, runner: Runner = SYSTEM) -> Overlay:
    """What the patches change, on top of ``base`` with ``fixes``; the fixes included.

    Raises UsageError naming the patch that does not apply, and where.
    """
    seen: dict[str, None] = {}
    with paths.scratch_dir() as scratch:
        for patch in files:
            for name in _touched(patch):
                if name not in seen:
                    _bring(name, scratch, base, fixes)
                    seen[name] = None
            if failed := gitapply.apply(patch.read_bytes(), scratch, runner=runner):
                raise UsageError(f"{patch.name} does not apply to this base: {failed}")
        changes: Overlay = dict(fixes)
        for name in seen:
            path = scratch / name
            changes[name] = read_content(path) if path.is_file() else None
        return changes
