# SPDX-License-Identifier: GPL-2.0
"""Adds up what guests counted, and says which of our lines were run."""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from unidiff.patch import PatchSet

from vswaplab import paths
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.proc import SYSTEM, Runner
from vswaplab.series import stored
from vswaplab.series.stored import Store
from vswaplab.tree import gitapply

OWN = "mm/vswap/"
_TESTS = "mm/vswap/tests/"

Counts = dict[str, dict[int, int]]  # by file and line: how often it ran; only lines with code


@dataclass(frozen=True)
class Covered:
    """Of one file: lines with code that count here, and those of them that never ran."""

    name: str
    lines: int
    missed: tuple[int, ...]

    @property
    def percent(self) -> float:
        """How much of it ran; 100 if there is no code."""
        return 100.0 * (self.lines - len(self.missed)) / self.lines if self.lines else 100.0

    @property
    def runs(self) -> str:
        """The lines that never ran; those that follow each other as one: "3, 7-9"."""
        found: list[list[int]] = []
        for number in self.missed:
            if found and number == found[-1][1] + 1:
                found[-1][1] = number
            else:
                found.append([number, number])
        return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in found)


def _objects(top: Path) -> dict[str, Path]:
    """The files of one guest, by their path below the directory in which the kernel was built."""
    found = {}
    for path in top.rglob("*.gcda"):
        parts = path.parts
        found["/".join(parts[len(parts) - 1 - parts[::-1].index("mm") :])] = path
    return found


def merged(guests: Iterable[Path], kernel: BuiltKernel, into: Path, runner: Runner = SYSTEM) -> Path:
    """One directory with the sum of all guests, and the notes of the compiler beside it."""
    total = into / "sum"
    total.mkdir(parents=True)
    for guest in guests:
        flat, result = into / "one", into / "new"
        for name, path in _objects(guest).items():
            (flat / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, flat / name)
        if any(total.iterdir()):
            runner.run(["gcov-tool", "merge", str(total), str(flat), "-o", str(result)])
            shutil.rmtree(total)
            shutil.rmtree(flat)
            result.rename(total)
        else:
            total.rmdir()
            flat.rename(total)
    for path in total.rglob("*.gcda"):
        notes = kernel.dir / path.relative_to(total).with_suffix(".gcno")
        if notes.exists():
            shutil.copyfile(notes, path.with_suffix(".gcno"))
    return total


def counts(total: Path, tree: Path, runner: Runner = SYSTEM) -> Counts:
    """What gcov says of the files in ``total``, by names relative to the kernel's sources."""
    found: Counts = defaultdict(lambda: defaultdict(int))
    for path in sorted(total.rglob("*.gcda")):
        if not path.with_suffix(".gcno").exists():
            continue
        said = runner.run(["gcov", "--json-format", "--stdout", str(path)], cwd=total).stdout
        answer = json.loads(said)
        for file in answer["files"]:
            whole = os.path.normpath(os.path.join(answer["current_working_directory"], file["file"]))
            name = os.path.relpath(whole, tree)
            for line in file["lines"]:
                found[name][line["line_number"]] += line["count"]
    return found


def added(store: Store, base: Path, runner: Runner = SYSTEM) -> dict[str, set[int]]:
    """The lines of edited files of the base that the series adds or changes; arch/um is left out."""
    line = stored.line(store, base, runner=runner)
    result: dict[str, set[int]] = {}
    with paths.scratch_dir() as scratch:
        for name, content in stored.final(line).items():
            before = line.base[name]
            if before is None or content is None or name.startswith("arch/um/") or not name.endswith((".c", ".h")):
                continue
            (scratch / "base").write_bytes(before.data)
            (scratch / "final").write_bytes(content.data)
            argv = ["git", "diff", "--no-index", "--text", "-U0", "--output=diff", "base", "final"]
            runner.run(argv, cwd=scratch, env=gitapply.environment(scratch), check=False)
            result[name] = {
                found.target_line_no
                for file in PatchSet((scratch / "diff").read_text(errors="replace"))
                for hunk in file
                for found in hunk
                if found.is_added and found.target_line_no
            }
    return result


def ours(found: Mapping[str, Mapping[int, int]], edits: Mapping[str, set[int]]) -> list[Covered]:
    """Every file of ours, and the lines of ours in edited ones; the unit tests themselves do not count."""
    result = []
    for name in sorted(found):
        if name.startswith(OWN) and not name.startswith(_TESTS):
            lines = dict(found[name])
        elif name in edits:
            lines = {number: count for number, count in found[name].items() if number in edits[name]}
        else:
            continue
        result.append(Covered(name, len(lines), tuple(sorted(n for n, count in lines.items() if not count))))
    return result


def together(parts: Iterable[Counts]) -> Counts:
    """The sum of several kernels' counts."""
    total: Counts = defaultdict(lambda: defaultdict(int))
    for part in parts:
        for name, lines in part.items():
            for number, count in lines.items():
                total[name][number] += count
    return total
