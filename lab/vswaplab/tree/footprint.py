# SPDX-License-Identifier: GPL-2.0
"""How much of the base kernel is edited, and how much is ours."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from unidiff.patch import PatchSet

from vswaplab import paths
from vswaplab.proc import SYSTEM, Runner
from vswaplab.series import stored
from vswaplab.series.stored import Store
from vswaplab.tree import gitapply
from vswaplab.tree.overlay import Overlay

# What the edits of the base are for, by the beginning of their names; the first that fits.
PURPOSES = {
    "arch/um/": "User-Mode Linux",
    "crypto/": "zstd in virtual machines",
    "Documentation/": "documentation",
    "MAINTAINERS": "documentation",
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
    """Lines by file: changed ones of the base's files, all of ours.

    A changed line counts once as removed and once as added, whichever patches touch it.
    """

    edited: dict[str, int]
    own: dict[str, int]

    def totals(self) -> dict[str, int]:
        """Numbers of files and lines of both kinds."""
        return {
            "patched_files": len(self.edited),
            "patched_lines": sum(self.edited.values()),
            "own_files": len(self.own),
            "own_lines": sum(self.own.values()),
        }

    def by_purpose(self) -> dict[str, int]:
        """Changed lines of the base by what they are for."""
        result = dict.fromkeys(PURPOSES.values(), 0)
        for name, count in self.edited.items():
            result[next(purpose for start, purpose in PURPOSES.items() if name.startswith(start))] += count
        return result


def changed_lines(patch: str) -> int:
    """Removed plus added lines of a unified diff, its headers left out."""
    return sum(file.added + file.removed for file in PatchSet(patch))


def _difference(before: bytes, after: bytes, scratch: Path, runner: Runner) -> int:
    """The changed lines between two contents."""
    (scratch / "base").write_bytes(before)
    (scratch / "final").write_bytes(after)
    argv = ["git", "diff", "--no-index", "--text", "-U0", "--diff-algorithm=histogram", "--output=diff"]
    runner.run([*argv, "base", "final"], cwd=scratch, env=gitapply.environment(scratch), check=False)
    return changed_lines((scratch / "diff").read_text(errors="replace"))


def _of_edits(base: Overlay, final: Overlay, runner: Runner) -> dict[str, int]:
    """Changed lines by edited file of the base."""
    result = {}
    with paths.scratch_dir() as scratch:
        for name, content in final.items():
            if before := base[name]:
                result[name] = _difference(before.data, content.data if content else b"", scratch, runner)
    return result


def footprint(
    store: Store, base: Path, topics: Collection[str] | None = None, runner: Runner = SYSTEM
) -> Footprint:
    """What the series (or its ``topics``) changes in ``base``, from the first version to the last.

    Raises TreeError.
    """
    line = stored.line(store, base, topics=topics, runner=runner)
    final = stored.final(line)
    own = {name: content.data.count(b"\n") for name, content in final.items() if content and not line.base[name]}
    return Footprint(_of_edits(line.base, final, runner), own)
