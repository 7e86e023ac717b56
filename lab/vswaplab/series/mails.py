# SPDX-License-Identifier: GPL-2.0
"""The series for a mailing list: complete mails, the same by topic, and each topic as one patch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vswaplab import paths
from vswaplab.bench import resultspage
from vswaplab.build import config, kbuild
from vswaplab.errors import BuildError, TreeError, UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.series import export, gitline, mail, stored
from vswaplab.series.stored import Line, Step, Store
from vswaplab.source import linux
from vswaplab.tree import buildtree, overlay
from vswaplab.tree.overlay import Overlay

RESULTS = "@results@"  # a line of the cover's text: the measured table goes there
_FLAVOURS = ("release", "minimal")  # which --build builds, of those that there are

_FORMAT = (*gitline.FORMAT, "-U3", "--stat=76")
_UTF8 = "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit"


@dataclass(frozen=True)
class Cover:
    """The cover letter: its subject, its text, and the lines that say what the series applies to."""

    subject: str
    body: str
    base: str

    def letter(self, subject: str = "", body: str = "") -> tuple[str, str]:
        """Subject and whole text, its own or others on top of the same base."""
        return subject or self.subject, f"{(body or self.body).strip()}\n\n{self.base}".strip()


def _cover(store: Store, found: linux.Source) -> Cover:
    """The cover letter from its file. Raises TreeError when there is none."""
    path = store.patches / stored.COVER
    if not path.is_file():
        raise TreeError(f"there is no patches/{stored.COVER} with the subject and the text of the cover letter")
    subject, _, body = path.read_text().partition("\n")
    if not subject.strip() or not body.strip():
        raise TreeError(f"patches/{stored.COVER} needs a subject in its first line, an empty line and a text")
    if RESULTS in body.splitlines():
        table = resultspage.plain(paths.repo_root()).rstrip()
        body = "\n".join(table if line == RESULTS else line for line in body.splitlines())
    base = f"base: v{found.version}\nprerequisite: {found.path.name} sha256 {found.sha256}"
    return Cover(subject.strip(), body, base)


def _identity(runner: Runner) -> dict[str, str]:
    """The user's own name as git knows it, for the cover letter's From line."""
    environment = {}
    for key, name in (("user.name", "NAME"), ("user.email", "EMAIL")):
        value = runner.run(["git", "config", key], cwd=paths.repo_root(), check=False).stdout.strip()
        if value:
            environment[f"GIT_AUTHOR_{name}"] = environment[f"GIT_COMMITTER_{name}"] = value
    return environment


def mailed(step: Step) -> Step:
    """The step without the trailers that are ours alone."""
    return replace(step, message=mail.without(step.message, [mail.TOPIC, mail.ADDS]))


def at(line: Line, step: int) -> Overlay:
    """What differs from the base after the steps 0..step."""
    return stored.final(Line(line.base, line.steps[: step + 1]))


def _signers(steps: Sequence[Step]) -> list[str]:
    """Everybody who signed one of them, each once."""
    return list(dict.fromkeys(name for step in steps for name in mail.trailers(step.message, mail.SIGNED)))


def squashed(steps: Sequence[Step], subject: str) -> Step:
    """One step for all of them; its message lists their subjects."""
    changes: Overlay = {}
    for step in steps:
        changes |= step.changes
    listed = "".join(f"  {step.subject}\n" for step in steps)
    signed = "".join(f"{mail.SIGNED}: {name}\n" for name in _signers(steps))
    message = f"{subject}\n\nThis is, in one patch:\n\n{listed}\n{signed}"
    return replace(steps[-1], message=message, changes=changes)


class _Writer:
    """Writes one repository's commits as mails."""

    def __init__(self, line: Line, runner: Runner) -> None:
        self._line, self._runner = line, runner
        self._author = _identity(runner)

    def _format(self, steps: Sequence[Step], place: str, first: int, target: Path, *words: str) -> None:
        """format-patch of the steps behind the first ``first`` ones."""
        with paths.scratch_dir() as scratch:
            repo = gitline.scratch_repo(scratch / place, self._line.base, steps, self._runner)
            ids = repo.lines("rev-list", "--reverse", f"refs/heads/{gitline.BRANCH}")
            # The cover letter gets the committer's date: the same series gives the same files.
            author = {**self._author, "GIT_COMMITTER_DATE": steps[-1].date}
            argv = ("format-patch", "-q", *_FORMAT, *words, "-o", str(target), f"{ids[first]}..{ids[-1]}")
            repo.git(*argv, env=author)

    def mails(self, first: int, last: int, letter: tuple[str, str], target: Path) -> None:
        """The steps [first, last) with a cover letter."""
        steps = [mailed(step) for step in self._line.steps[:last]]
        self._format(steps, "repo", first, target, "--cover-letter", "--numbered")
        path = next(target.glob("0000-*.patch"))
        text = path.read_text().replace("*** SUBJECT HERE ***", letter[0], 1)
        text = text.replace("*** BLURB HERE ***", letter[1], 1)
        if not text.isascii() and "\nContent-Type:" not in text.partition("\n\n")[0]:
            text = text.replace("\n\n", f"\n{_UTF8}\n\n", 1)
        path.write_text(text)

    def one(self, first: int, last: int, subject: str, target: Path) -> None:
        """The steps [first, last) as one patch."""
        before = [squashed(self._line.steps[:first], "before")] if first else []
        steps = [*before, squashed(self._line.steps[first:last], subject)]
        target.parent.mkdir(parents=True, exist_ok=True)
        with paths.scratch_dir() as scratch:
            self._format(steps, "repo", len(before), scratch / "out", "-N")
            next((scratch / "out").iterdir()).rename(target)


def _build_steps(
    line: Line, first: int, last: int, base: Path, base_id: str, runner: Runner, progress: Progress
) -> None:
    """Build the tree after each of the steps [first, last) for UML. Raises BuildError naming the patch."""
    path = paths.cache_dir() / "build" / "series"
    with paths.locked(path.with_name(".series.lock")):
        for number in range(first, last):
            step, current = line.steps[number], at(line, number)
            progress.update(f"patch {number + 1} of {len(line.steps)}: {step.subject}")
            buildtree.sync(path, base, base_id, current)
            tree = buildtree.Tree(path, f"{base_id}-{overlay.overlay_hash(current)}")
            strict = number == len(line.steps) - 1
            for flavour in (name for name in _FLAVOURS if name in config.FLAVOURS):
                try:
                    kbuild.build_in(tree, "vswap", "um", flavour, strict=strict, runner=runner, progress=progress)
                except BuildError as error:
                    raise BuildError(f"{step.name} ({step.subject}), {flavour}: {error}") from error


def _ranges(line: Line) -> dict[str, tuple[int, int]]:
    """The steps of each topic, [first, last). Raises TreeError unless they stand together."""
    names = [step.topic for step in line.steps]
    return {
        topic: (names.index(topic), names.index(topic) + names.count(topic)) for topic in export.topics(line.steps)
    }


def _write_all(line: Line, cover: Cover, wanted: str, target: Path, runner: Runner, progress: Progress) -> None:
    ranges = _ranges(line)
    writer = _Writer(line, runner)
    labels = {topic: f"{number:02}-{topic}" for number, topic in enumerate(ranges, 1)}
    if not wanted:
        progress.update("writing the series")
        writer.mails(0, len(line.steps), cover.letter(), target / "mail")
        writer.one(0, len(line.steps), cover.subject, target / "squashed" / "all.patch")
    for number, (topic, (first, last)) in enumerate(ranges.items(), 1):
        if wanted not in ("", topic):
            continue
        progress.update(f"writing {labels[topic]}")
        subject = f"{cover.subject} (part {number} of {len(ranges)}: {topic})"
        before = ", ".join(list(labels.values())[: number - 1])
        body = f"Part {number} of {len(ranges)} of the series: {topic}.\n"
        body += f"It goes on top of: {before}." if before else "It goes on top of the base."
        writer.mails(first, last, cover.letter(subject, body), target / "topics" / labels[topic])
        writer.one(first, last, subject, target / "squashed" / f"{labels[topic]}.patch")


def write(
    target: Path,
    store: Store,
    *,
    topic: str = "",
    build_steps: bool = False,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the series, or one topic of it, into ``target``, a new or empty directory; returns the files.

    With ``build_steps`` every step is built first. Raises UsageError when something is in the way
    or there is no such topic, TreeError when the series is not what it should be, BuildError.
    """
    progress = progress or Silent()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not an empty directory")
    found = linux.fetch(verify=False, runner=runner, progress=progress)
    base = linux.pristine(found, runner=runner, progress=progress)
    line = stored.line(store, base, runner=runner)
    ranges = _ranges(line)
    if topic and topic not in ranges:
        raise UsageError(f"no topic {topic!r}; there are: {', '.join(ranges)}")
    cover = _cover(store, found)
    if build_steps:
        first, last = ranges[topic] if topic else (0, len(line.steps))
        _build_steps(line, first, last, base, found.sha256, runner, progress)
    with paths.atomic_dir(target) as temporary:
        _write_all(line, cover, topic, temporary, runner, progress)
        if target.is_dir():
            target.rmdir()
    return sorted(path for path in target.rglob("*") if path.is_file())
