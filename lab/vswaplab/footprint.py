# SPDX-License-Identifier: GPL-2.0
"""How much of the base kernel is edited, and how much is ours."""

from dataclasses import dataclass
from pathlib import Path

from vswaplab import overlay
from vswaplab.overlay import PATCH


@dataclass(frozen=True)
class Footprint:
    """Counts over kernel/; a changed line counts once as removed and once as added."""

    patched_files: int
    patched_lines: int
    own_files: int
    own_lines: int


def changed_lines(patch: str) -> int:
    """Removed plus added lines of a unified diff, its headers left out."""
    count = 0
    in_hunk = False
    for line in patch.splitlines():
        if line.startswith("@@ "):
            in_hunk = True
        elif line.startswith("diff --git "):
            in_hunk = False
        elif in_hunk and line[:1] in ("-", "+"):
            count += 1
    return count


def per_file(kernel: Path) -> dict[str, int]:
    """Lines by the name in kernel/: changed ones for a .patch, all of them for a file of ours."""
    result = {}
    for name, path in overlay.files(kernel):
        text = path.read_text(errors="replace")
        result[name] = changed_lines(text) if name.endswith(PATCH) else text.count("\n")
    return result


def footprint(kernel: Path) -> Footprint:
    """The counts for everything in kernel/."""
    lines = per_file(kernel)
    patched = [count for name, count in lines.items() if name.endswith(PATCH)]
    own = [count for name, count in lines.items() if not name.endswith(PATCH)]
    return Footprint(len(patched), sum(patched), len(own), sum(own))
