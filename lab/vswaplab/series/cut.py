# SPDX-License-Identifier: GPL-2.0
"""Cut what kernel/ adds into an ordered series of patches, as kernel/SERIES says.

The difference between the base and the final tree is a list of *units* per file: the blocks
of changed lines of a base file, the lines of a file of ours. A patch of the series owns units;
a file at step N is the base with the units of the patches 1..N applied.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vswaplab import paths
from vswaplab.build import kbuild
from vswaplab.errors import BuildError, TreeError, UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.series import seriesfile
from vswaplab.series.seriesfile import Part, Series
from vswaplab.source import linux
from vswaplab.tree import buildtree, overlay
from vswaplab.tree.gitrepo import Repo
from vswaplab.tree.overlay import PATCH, Content, Overlay


@dataclass(frozen=True)
class Unit:
    """Lines [start, end) of the base that become ``new``."""

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Does a removed or added line match?"""
        return any(pattern.search(line.rstrip("\n")) for line in (*self.old, *self.new))


@dataclass
class FileChange:
    """A file that differs between base and final tree, cut into units."""

    entry: str  # its name in kernel/
    name: str  # its name in the tree
    base: Content | None  # None: a file of ours
    final: Content | None  # None: a file that is removed
    units: list[Unit]
    owners: list[int]  # per unit: the patch that carries it, -1 while nobody does

    def at(self, step: int) -> Content | None:
        """The file after the patches 0..step; None when it does not exist there."""
        if not any(owner <= step for owner in self.owners):
            return self.base
        if self.final is None:
            return None
        before = _lines(self.base.data) if self.base else []
        lines: list[str] = []
        position = 0
        for unit, owner in zip(self.units, self.owners, strict=True):
            lines += before[position : unit.start]
            lines += unit.new if owner <= step else unit.old
            position = unit.end
        return Content(_join([*lines, *before[position:]]), self.final.executable)


def _lines(data: bytes) -> list[str]:
    """Lines that end in a newline and nothing else; latin-1 keeps every byte."""
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode("latin-1"))


def _join(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode("latin-1")


def _blocks(base: bytes, final: bytes, runner: Runner) -> list[Unit]:
    """The blocks of changed lines, as git finds them."""
    with paths.scratch_dir() as scratch:
        (scratch / "base").write_bytes(base)
        (scratch / "final").write_bytes(final)
        runner.run(
            ["git", "diff", "--no-index", "-U0", "--diff-algorithm=histogram", "--output=diff", "base", "final"],
            cwd=scratch, env=overlay.GIT_ENV, check=False,
        )  # fmt: skip
        text = (scratch / "diff").read_text("latin-1")
    old, new = _lines(base), _lines(final)
    units = []
    for match in re.finditer(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", text, re.MULTILINE):
        first, removed, target, added = (int(group) if group else 1 for group in match.groups())
        start = first - 1 if removed else first
        begin = target - 1 if added else target
        units.append(
            Unit(start, start + removed, tuple(old[start : start + removed]), tuple(new[begin : begin + added]))
        )
    return units


def changes(kernel: Path, base: Path, runner: Runner = SYSTEM) -> dict[str, FileChange]:
    """Everything kernel/ changes, cut into units, by the name in kernel/. Raises TreeError."""
    result = {}
    for name, final in overlay.render(kernel, base, runner).items():
        before = overlay.read_content(base / name) if (base / name).is_file() else None
        if before is None:
            units = [Unit(0, 0, (), (line,)) for line in _lines(final.data if final else b"")]
        elif final is None:
            units = []
        else:
            units = _blocks(before.data, final.data, runner)
        units = units or [Unit(0, 0, (), ())]  # a removed file, an empty one, a change of mode
        entry = name + PATCH if before else name
        result[entry] = FileChange(entry, name, before, final, units, [-1] * len(units))
    return result


def _chosen(change: FileChange, part: Part) -> list[int]:
    """The units that a part of the series file takes. Raises TreeError when there are none."""
    if part.numbers is not None:
        chosen = sorted(number - 1 for number in part.numbers)
        if chosen[0] < 0 or chosen[-1] >= len(change.units):
            raise TreeError(f"kernel/SERIES: {part.name} has {len(change.units)} parts, not {chosen[-1] + 1}")
        return chosen
    if part.pattern is not None:
        pattern = part.pattern
        chosen = [i for i, unit in enumerate(change.units) if unit.matches(pattern)]
    else:
        chosen = [i for i, owner in enumerate(change.owners) if owner < 0]
    if not chosen:
        raise TreeError(f"kernel/SERIES: nothing in {part.name} is left for '{part.text}'")
    return chosen


def assign(found: dict[str, FileChange], order: Series) -> None:
    """Give every unit to a patch. Raises TreeError unless each is carried exactly once."""
    everything = [(index, part) for index, patch in enumerate(order.patches) for part in patch.parts]
    # Parts first: a name alone takes what they leave.
    for index, part in sorted(everything, key=lambda item: not item[1].selects):
        change = found.get(part.name)
        if change is None:
            raise TreeError(f"kernel/SERIES names {part.name}, which kernel/ does not have")
        for unit in _chosen(change, part):
            if change.owners[unit] >= 0:
                twice = f"patches {change.owners[unit] + 1} and {index + 1}"
                raise TreeError(f"kernel/SERIES: part {unit + 1} of {part.name} is in {twice}")
            change.owners[unit] = index
    for change in found.values():
        if -1 in change.owners:
            number = change.owners.index(-1) + 1
            raise TreeError(f"kernel/SERIES: part {number} of {change.entry} is in no patch")


def overlay_at(found: dict[str, FileChange], step: int) -> Overlay:
    """What differs from the base after the patches 0..step."""
    result: Overlay = {}
    for change in found.values():
        content = change.at(step)
        if content != change.base:
            result[change.name] = content
    return result


def _identity(runner: Runner) -> dict[str, str]:
    """The user's own name as git knows it, for the patches' From line."""
    environment = {}
    for key, name in (("user.name", "NAME"), ("user.email", "EMAIL")):
        value = runner.run(["git", "config", key], cwd=paths.repo_root(), check=False).stdout.strip()
        if value:
            environment[f"GIT_AUTHOR_{name}"] = environment[f"GIT_COMMITTER_{name}"] = value
    return environment


def _commit_steps(repo: Repo, found: dict[str, FileChange], order: Series, runner: Runner) -> None:
    """A repository of the files that change: the base, then one commit per patch."""
    repo.init()
    for change in found.values():
        if change.base:
            paths.write_file(repo.path / change.name, change.base.data, change.base.mode)
    names = sorted(change.name for change in found.values())
    repo.git("add", "-f", "-A")
    repo.commit("base\n")
    author = _identity(runner)
    for step, patch in enumerate(order.patches):
        for change in found.values():
            content = change.at(step)
            if content:
                paths.write_file(repo.path / change.name, content.data, content.mode)
            else:
                (repo.path / change.name).unlink(missing_ok=True)
        repo.git("add", "-f", "-A")
        repo.commit(patch.message, env=author)
    final = {change.name: change.final for change in found.values()}
    for name in names:
        path = repo.path / name
        if (overlay.read_content(path) if path.exists() else None) != final[name]:
            raise TreeError(f"the series does not end in the tree that kernel/ describes: {name}")


def _format(repo: Repo, order: Series, target: Path, author: dict[str, str]) -> None:
    """git format-patch, with the cover letter filled in."""
    repo.git(
        "format-patch", "-q", "--cover-letter", "--no-renames", "--diff-algorithm=histogram",
        "-o", str(target), repo.root(), env=author,
    )  # fmt: skip
    letter = next(target.glob("0000-*.patch"))
    text = letter.read_text()
    text = text.replace("*** SUBJECT HERE ***", order.cover.subject)
    text = text.replace("*** BLURB HERE ***", order.cover.body.strip("\n"))
    letter.write_text(text)


def _build_steps(
    found: dict[str, FileChange], order: Series, base: Path, base_id: str, progress: Progress
) -> None:
    """Build the tree after each patch (um, release). Raises BuildError naming the patch."""
    path = paths.cache_dir() / "build" / "series"
    with paths.locked(path.with_name(".series.lock")):
        for step, patch in enumerate(order.patches):
            current = overlay_at(found, step)
            progress.update(f"patch {step + 1} of {len(order.patches)}: {patch.subject}")
            buildtree.sync(path, base, base_id, current)
            tree = buildtree.Tree(path, f"{base_id}-{overlay.overlay_hash(current)}")
            last = step == len(order.patches) - 1
            try:
                kbuild.build_in(tree, "vswap", "um", "release", strict=last, progress=progress)
            except BuildError as error:
                raise BuildError(f"patch {step + 1} ({patch.subject}): {error}") from error


def write(
    target: Path, *, build_steps: bool = False, runner: Runner = SYSTEM, progress: Progress | None = None
) -> list[Path]:
    """Write the series into ``target``, a new or empty directory; returns the files.

    With ``build_steps`` every step is built first. Raises UsageError when something is in the
    way, TreeError when kernel/SERIES does not cover kernel/ exactly, BuildError.
    """
    progress = progress or Silent()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not an empty directory")
    order = seriesfile.load(paths.kernel_dir())
    base_source = linux.fetch(verify=False, runner=runner, progress=progress)
    base = linux.pristine(base_source, runner=runner, progress=progress)
    found = changes(paths.kernel_dir(), base, runner)
    assign(found, order)
    if build_steps:
        _build_steps(found, order, base, base_source.sha256, progress)
    with paths.scratch_dir() as scratch, paths.atomic_dir(target) as temporary:
        repo = Repo(scratch / "repo", runner)
        repo.path.mkdir()
        _commit_steps(repo, found, order, runner)
        _format(repo, order, temporary, _identity(runner))
        if target.is_dir():
            target.rmdir()
    return sorted(target.iterdir())
