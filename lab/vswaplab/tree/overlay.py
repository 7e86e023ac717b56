# SPDX-License-Identifier: GPL-2.0
"""What kernel/ says about the kernel tree: whole files of ours, and patches to the base's files.

``kernel/NAME`` is copied whole; ``kernel/NAME.patch`` edits the base's NAME. ``kernel/SERIES``
is about the patches themselves and never part of a tree.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import TreeError
from vswaplab.proc import SYSTEM, Runner

META = ("SERIES",)  # names at the top of kernel/ that are not part of the tree
PATCH = ".patch"

# git must find neither a configuration nor a repository that is not its business
GIT_ENV = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


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


def files(kernel: Path, under: str = "") -> Iterator[tuple[str, Path]]:
    """Path below kernel/ and file, sorted, META left out; only what is under a folder, if one is given.

    Raises TreeError for a symbolic link.
    """
    for path in sorted((kernel / under).rglob("*")):
        name = path.relative_to(kernel).as_posix()
        if path.is_symlink():
            raise TreeError(f"kernel/{name} is a symbolic link; kernel/ holds plain files only")
        if path.is_file() and name not in META:
            yield name, path


def content_hash(kernel: Path, under: str = "") -> str:
    """A checksum over every name, mode and byte in kernel/ that ends up in a tree."""
    return hashing.of_contents(
        (f"{name}\0{os.access(path, os.X_OK)}", path.read_bytes()) for name, path in files(kernel, under)
    )


def read_content(path: Path) -> Content:
    """The content of a file on disk."""
    return Content(path.read_bytes(), os.access(path, os.X_OK))


def _failed_hunk(patch: Path, name: str, line: int) -> str:
    """The number and header of the hunk of ``patch`` that starts at line ``line`` of the base."""
    headers = re.findall(r"^@@ -(\d+).*$", patch.read_text(errors="replace"), re.MULTILINE)
    lines = [text for text in patch.read_text(errors="replace").splitlines() if text.startswith("@@ ")]
    for number, start in enumerate(headers, 1):
        if int(start) == line:
            return f"hunk {number} ({lines[number - 1]}) of {name}"
    return f"the hunk at line {line} of {name}"


def _apply_error(patch: Path, name: str, said: str, label: str) -> TreeError:
    """One line out of what git apply printed."""
    match = re.search(r"patch failed: .*:(\d+)$", said, re.MULTILINE)
    what = _failed_hunk(patch, name, int(match[1])) if match else said.strip().splitlines()[-1]
    return TreeError(f"{label}/{name}{PATCH} does not apply to this base: {what}")


def _original(name: str, base: Path, onto: Overlay) -> Content | None:
    """NAME as an overlay leaves it in the base; None if it is not there."""
    if name in onto:
        return onto[name]
    return read_content(base / name) if (base / name).is_file() else None


def apply_patch(
    patch: Path,
    name: str,
    base: Path,
    runner: Runner = SYSTEM,
    *,
    onto: Overlay | None = None,
    label: str = "kernel",
) -> Content | None:
    """The base's NAME, as the overlay ``onto`` leaves it, with ``patch`` applied; None when the patch removes it.

    Nothing below ``base`` is written. Raises TreeError naming the file, in ``label``, and the hunk.
    """
    original = _original(name, base, onto or {})
    if original is None:
        raise TreeError(f"{label}/{name}{PATCH} edits {name}, which this base does not have")
    with paths.scratch_dir() as scratch:
        target = scratch / name
        paths.write_file(target, original.data, original.mode)
        environment = {**GIT_ENV, "GIT_CEILING_DIRECTORIES": str(scratch.parent)}
        argv = ["git", "apply", "--whitespace=nowarn", str(patch)]
        result = runner.run(argv, cwd=scratch, env=environment, check=False)
        if result.returncode != 0:
            raise _apply_error(patch, name, result.stderr, label)
        stray = [p for p in scratch.rglob("*") if p.is_file() and p != target]
        if stray:
            raise TreeError(f"{label}/{name}{PATCH} edits {stray[0].relative_to(scratch)} as well")
        return read_content(target) if target.exists() else None


def render(
    kernel: Path,
    base: Path,
    runner: Runner = SYSTEM,
    under: str = "",
    *,
    onto: Overlay | None = None,
    label: str = "kernel",
) -> Overlay:
    """Everything kernel/ changes in ``base``, computed without writing anything.

    With ``onto`` it changes what that overlay makes of the base; the result is both. ``label`` is
    what errors call the folder. Raises TreeError when a patch does not apply or a whole file is
    one that is there already.
    """
    before = onto or {}
    result: Overlay = {}
    for name, path in files(kernel, under):
        if name.endswith(PATCH):
            target = name.removesuffix(PATCH)
            content = apply_patch(path.resolve(), target, base, runner, onto=before, label=label)
        else:
            target, content = name, read_content(path)
            if _original(name, base, before):
                raise TreeError(f"{label}/{name} is a file of the base; make it {label}/{name}{PATCH}")
        if target in result:
            raise TreeError(f"{label}/ has both {target} and {target}{PATCH}")
        result[target] = content
    return {**before, **result}


def overlay_hash(changes: Overlay) -> str:
    """A checksum over everything in an overlay."""
    return hashing.of_contents(
        (f"{name}\0{content.mode if content else 0}", content.data if content else b"")
        for name, content in sorted(changes.items())
    )
