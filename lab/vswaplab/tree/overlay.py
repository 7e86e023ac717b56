# SPDX-License-Identifier: GPL-2.0
"""What differs from the base in a kernel tree, and directories that say so file by file.

In such a directory NAME is a whole file, and NAME.patch edits the base's NAME. kernel-bench/ is one;
kernel/ has whole files only (see vswaplab.series.stored).
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import TreeError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.tree import gitapply

PATCH = ".patch"
_LEFTOVER = re.compile(r"~$|\.(?:orig|rej|sw[a-p])$")  # of an editor, or of patch(1)


@dataclass(frozen=True)
class Content:
    """A file as it is to be in the tree."""

    data: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        """The permission bits to give it."""
        return 0o755 if self.executable else 0o644


# What differs from the pristine base: path in the tree -> content, or None for a removed file.
Overlay = dict[str, Content | None]


def files(directory: Path) -> Iterator[tuple[str, Path]]:
    """Path below the directory and file, sorted. Raises TreeError for a symbolic link."""
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            raise TreeError(
                f"{directory.name}/{name} is a symbolic link; {directory.name}/ holds plain files only"
            )
        if path.is_file() and not _LEFTOVER.search(name):
            yield name, path


def content_hash(directory: Path) -> str:
    """A checksum over every name, mode and byte in a directory."""
    return hashing.of_contents(
        (f"{name}\0{os.access(path, os.X_OK)}", path.read_bytes()) for name, path in files(directory)
    )


def read_content(path: Path) -> Content:
    """The content of a file on disk."""
    return Content(path.read_bytes(), os.access(path, os.X_OK))


def _original(name: str, base: Path, onto: Overlay) -> Content | None:
    """NAME as an overlay leaves it in the base; None if it is not there."""
    if name in onto:
        return onto[name]
    return read_content(base / name) if (base / name).is_file() else None


def _patched(patch: Path, name: str, base: Path, onto: Overlay, label: str, runner: Runner) -> Content | None:
    """The base's NAME, as ``onto`` leaves it, with ``patch`` applied; None when the patch removes it."""
    original = _original(name, base, onto)
    if original is None:
        raise TreeError(f"{label}/{name}{PATCH} edits {name}, which this base does not have")
    with paths.scratch_dir() as scratch:
        target = scratch / name
        paths.write_file(target, original.data, original.mode)
        if failed := gitapply.apply(patch.read_bytes(), scratch, runner=runner):
            raise TreeError(f"{label}/{name}{PATCH} does not apply to this base: {failed}")
        stray = [p for p in scratch.rglob("*") if p.is_file() and p != target]
        if stray:
            raise TreeError(f"{label}/{name}{PATCH} edits {stray[0].relative_to(scratch)} as well")
        return read_content(target) if target.exists() else None


def render(directory: Path, base: Path, onto: Overlay, runner: Runner = SYSTEM) -> Overlay:
    """What a directory changes in ``base`` with ``onto`` in it, nothing written; the result is both.

    Raises TreeError when a patch does not apply or a whole file is one that is there already.
    """
    label = directory.name
    result: Overlay = {}
    for name, path in files(directory):
        if name.endswith(PATCH):
            target = name.removesuffix(PATCH)
            content = _patched(path.resolve(), target, base, onto, label, runner)
        else:
            target, content = name, read_content(path)
            if _original(name, base, onto):
                raise TreeError(f"{label}/{name} is a file of the base; make it {label}/{name}{PATCH}")
        if target in result:
            raise TreeError(f"{label}/ has both {target} and {target}{PATCH}")
        result[target] = content
    return {**onto, **result}


def overlay_hash(changes: Overlay) -> str:
    """A checksum over everything in an overlay."""
    return hashing.of_contents(
        (f"{name}\0{content.mode if content else 0}", content.data if content else b"")
        for name, content in sorted(changes.items())
    )
