# SPDX-License-Identifier: GPL-2.0
"""How much of the base kernel is edited, and how much is ours."""

from dataclasses import dataclass
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from vswaplab.errors import TreeError
from vswaplab.tree import overlay
from vswaplab.tree.overlay import PATCH

# What the edits of the base are for, by the beginning of their names in kernel/; the first that fits.
PURPOSES = {
    "arch/um/": "User-Mode Linux",
    "Documentation/": "documentation",
    "mm/zswap": "zswap and zsmalloc",
    "mm/zsmalloc": "zswap and zsmalloc",
    "include/linux/zsmalloc": "zswap and zsmalloc",
    "mm/memcontrol": "control groups",
    "include/linux/memcontrol": "control groups",
    "mm/swap": "swap slots, cache and I/O",
    "mm/page_io": "swap slots, cache and I/O",
    "include/linux/swap": "swap slots, cache and I/O",
    "": "reclaim, faults, counters and configuration",
}


@dataclass(frozen=True)
class Footprint:
    """Counts over kernel/; a changed line counts once as removed and once as added."""

    patched_files: int
    patched_lines: int
    own_files: int
    own_lines: int


def changed_lines(patch: str) -> int:
    """Removed plus added lines of a unified diff, its headers left out."""
    return sum(file.added + file.removed for file in PatchSet(patch))


def per_file(kernel: Path) -> dict[str, int]:
    """Lines by the name in kernel/: changed ones for a .patch, all for a file of ours. Raises TreeError."""
    result = {}
    for name, path in overlay.files(kernel):
        text = path.read_text(errors="replace")
        try:
            result[name] = changed_lines(text) if name.endswith(PATCH) else text.count("\n")
        except UnidiffParseError as error:
            raise TreeError(f"kernel/{name} is not a patch: {error}") from error
    return result


def by_purpose(lines: dict[str, int]) -> dict[str, int]:
    """Changed lines of the base by what they are for; ``lines`` is what per_file() returned."""
    result = dict.fromkeys(PURPOSES.values(), 0)
    for name, count in lines.items():
        if name.endswith(PATCH):
            result[next(purpose for start, purpose in PURPOSES.items() if name.startswith(start))] += count
    return result


def footprint(kernel: Path) -> Footprint:
    """The counts for everything in kernel/."""
    lines = per_file(kernel)
    patched = [count for name, count in lines.items() if name.endswith(PATCH)]
    own = [count for name, count in lines.items() if not name.endswith(PATCH)]
    return Footprint(len(patched), sum(patched), len(own), sum(own))
