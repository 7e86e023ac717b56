# SPDX-License-Identifier: GPL-2.0
"""patches/ and kernel/: the series as it is kept, read, and applied to a base.

``patches/NN-topic/NNNN-subject.patch`` are the commits in their order, each a mail. A file that
one commit adds, and no other touches, is not in the mail: it is ``kernel/NAME``, whole, and the
commit's trailer ``Adds: NAME`` says that it belongs there.
"""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import TreeError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.series import mail
from vswaplab.series.mail import Mail
from vswaplab.tree import gitapply, overlay
from vswaplab.tree.overlay import Content, Overlay, read_content

COVER = "cover.txt"

# What mainline needs as well for the guests to be comparable: without it User-Mode Linux with two
# CPUs does not take a page away from a process that another CPU runs, and reclaim corrupts memory.
BASE_TOPIC = "um"

_DIRECTORY = re.compile(r"\d\d-([a-z0-9][a-z0-9-]*)")
_NAME = re.compile(r"\d{4}-.*\.patch")


@dataclass(frozen=True)
class Store:
    """The two directories."""

    patches: Path
    kernel: Path


def ours() -> Store:
    """Those of this checkout."""
    return Store(paths.patches_dir(), paths.kernel_dir())


@dataclass(frozen=True)
class Patch:
    """One file of patches/; ``name`` is its path there."""

    name: str
    topic: str
    mail: Mail
    adds: tuple[str, ...]
    data: bytes


@dataclass(frozen=True)
class Step:
    """One commit: who, when, why, and what it makes of files; ``name`` is what errors call it."""

    name: str
    author: str
    date: str
    message: str
    changes: Overlay

    @property
    def topic(self) -> str:
        """The value of its trailer, "" without one."""
        return (mail.trailers(self.message, mail.TOPIC) or [""])[0]

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True)
class Line:
    """A series as commits, in one line: the base's files that it touches, and the steps."""

    base: Overlay
    steps: list[Step]


def _directories(patches: Path) -> list[tuple[str, Path]]:
    """Topic and directory in their order. Raises TreeError for a topic or a number that is there twice."""
    found = []
    seen: dict[str, Path] = {}
    for path in sorted(path for path in patches.iterdir() if path.is_dir()):
        match = _DIRECTORY.fullmatch(path.name)
        if not match:
            raise TreeError(f"patches/{path.name} is no topic: expected NN-name")
        for key in (match[1], path.name[:2]):
            if key in seen:
                raise TreeError(f"patches/ has {key} twice: {seen[key].name} and {path.name}")
            seen[key] = path
        found.append((match[1], path))
    return found


def _patch(path: Path, topic: str) -> Patch:
    name = f"{path.parent.name}/{path.name}"
    if path.is_symlink() or not _NAME.fullmatch(path.name):
        raise TreeError(f"patches/{name} is no patch: expected a file NNNN-subject.patch")
    data = path.read_bytes()
    found = mail.parse(data, f"patches/{name}")
    said = mail.trailers(found.message, mail.TOPIC)
    if said != [topic]:
        what = f"says 'Topic: {said[0]}'" if said else "has no trailer Topic:"
        raise TreeError(f"patches/{name} {what}; its directory says {topic}")
    return Patch(name, topic, found, tuple(mail.trailers(found.message, mail.ADDS)), data)


def _check_adds(found: Sequence[Patch], kernel: Path) -> None:
    """Every whole file is in kernel/ and in one patch, and no diff edits it. Raises TreeError."""
    owners: dict[str, str] = {}
    present = {name for name, _ in overlay.files(kernel)} if kernel.is_dir() else set()
    for patch in found:
        for name in patch.adds:
            if name in owners:
                raise TreeError(f"patches/{patch.name} adds {name}, which patches/{owners[name]} adds")
            if name not in present:
                raise TreeError(f"patches/{patch.name} adds {name}, which is not in kernel/")
            owners[name] = patch.name
    for patch in found:
        for name in mail.touched(patch.mail.diff):
            if name in owners:
                raise TreeError(f"patches/{patch.name} edits {name}, which is a whole file in kernel/")
    if stray := sorted(present - owners.keys()):
        raise TreeError(f"kernel/{stray[0]} is in no patch: 'Adds: {stray[0]}' is to be a trailer of one")


def load(store: Store) -> list[Patch]:
    """The patches in their order. Raises TreeError when patches/ and kernel/ are not what they should be."""
    if not store.patches.is_dir():
        raise TreeError(f"there is no {store.patches}")
    found = [
        _patch(path, topic)
        for topic, directory in _directories(store.patches)
        for path in sorted(directory.iterdir())
        if not path.name.startswith(".")
    ]
    _check_adds(found, store.kernel)
    return found


def content_hash(store: Store) -> str:
    """A checksum over every byte of patches/ and kernel/ that the series is made of."""
    texts = sorted(store.patches.glob("*/*.patch"))
    digest = hashing.of_contents((path.relative_to(store.patches).as_posix(), path.read_bytes()) for path in texts)
    return f"{digest}-{overlay.content_hash(store.kernel)}"


def effect_hash(store: Store, topics: Collection[str] | None = None) -> str:
    """A checksum over what the series (or its ``topics``) makes of a base: messages do not count.

    Raises TreeError.
    """
    found = [patch for patch in load(store) if topics is None or patch.topic in topics]
    names = sorted(name for patch in found for name in patch.adds)
    return hashing.of_contents(
        [
            *(("", patch.mail.diff) for patch in found),
            *((f"{name}\0{os.access(store.kernel / name, os.X_OK)}", (store.kernel / name).read_bytes())
              for name in names),
        ]
    )  # fmt: skip


def _apply(patch: Patch, scratch: Path, runner: Runner, include: Sequence[str] = ()) -> None:
    """Apply the diff to the files in ``scratch``. Raises TreeError naming patch and hunk."""
    if failed := gitapply.apply(patch.mail.diff, scratch, include, runner):
        raise TreeError(f"patches/{patch.name} does not apply: {failed}")


def line(store: Store, base: Path, *, topics: Collection[str] | None = None, runner: Runner = SYSTEM) -> Line:
    """The series (or its ``topics`` alone) as commits on top of ``base``, which is not written to.

    Raises TreeError when the directories are not what they should be, or a patch does not apply.
    """
    before: Overlay = {}
    steps = []
    with paths.scratch_dir() as scratch:
        for patch in load(store):
            if topics is not None and patch.topic not in topics:
                continue
            names = mail.touched(patch.mail.diff)
            for name in [*names, *patch.adds]:
                if name in before:
                    continue
                before[name] = read_content(base / name) if (base / name).is_file() else None
                if (content := before[name]) and name in names:
                    paths.write_file(scratch / name, content.data, content.mode)
            changes: Overlay = {name: read_content(store.kernel / name) for name in patch.adds}
            for name in patch.adds:
                if before[name]:
                    raise TreeError(f"patches/{patch.name} adds {name}, which this base has")
            if names:
                _apply(patch, scratch, runner)
            for name in names:
                changes[name] = read_content(scratch / name) if (scratch / name).is_file() else None
            found = patch.mail
            steps.append(Step(f"patches/{patch.name}", found.author, found.date, found.message, changes))
    return Line(before, steps)


def final(found: Line) -> Overlay:
    """What differs from the base after all steps."""
    result: Overlay = {}
    for step in found.steps:
        result |= step.changes
    return {name: content for name, content in sorted(result.items()) if content != found.base[name]}


def render(store: Store, base: Path, *, topics: Collection[str] | None = None, runner: Runner = SYSTEM) -> Overlay:
    """What the series (or its ``topics``) makes of ``base``. Raises what line() raises."""
    return final(line(store, base, topics=topics, runner=runner))


def new_files(store: Store, runner: Runner = SYSTEM) -> dict[str, Content]:
    """All files that the series adds, whole ones and those that patches make; no base is needed.

    Raises TreeError.
    """
    result: Overlay = {}
    known: list[str] = []
    with paths.scratch_dir() as scratch:
        for patch in load(store):
            result |= {name: read_content(store.kernel / name) for name in patch.adds}
            known += mail.created(patch.mail.diff)
            if names := [name for name in mail.touched(patch.mail.diff) if name in known]:
                _apply(patch, scratch, runner, names)
        result |= {name: read_content(scratch / name) for name in known if (scratch / name).is_file()}
    return {name: content for name, content in sorted(result.items()) if content}


def edited_names(store: Store) -> list[str]:
    """The files of the base that the series edits or removes, sorted. Raises TreeError."""
    touched: set[str] = set()
    made: set[str] = set()
    for patch in load(store):
        made |= set(mail.created(patch.mail.diff)) - touched
        touched |= set(mail.touched(patch.mail.diff))
    return sorted(touched - made)
