# SPDX-License-Identifier: GPL-2.0
"""Commits become patches/ and kernel/: checked, written as mails, put in place at once."""

import re
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import TreeError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.series import gitline, mail, stored
from vswaplab.series.mail import Mail
from vswaplab.series.stored import Line, Step, Store
from vswaplab.tree import overlay
from vswaplab.tree.gitrepo import Repo
from vswaplab.tree.overlay import Content, Overlay, read_content

_TOPIC = re.compile(r"[a-z0-9][a-z0-9-]*")
_UNFINISHED = ("fixup! ", "squash! ", "amend! ")

# Less context would quote less of the base, but on a base that has moved a hunk would apply where
# the same line or two stand as well.
_FORMAT = (*gitline.FORMAT, "-p", "-U3", "--inter-hunk-context=0", "--no-signature", "-N", "--full-index")


@dataclass(frozen=True)
class Export:
    """What the two directories have to hold: path below each -> content."""

    patches: dict[str, bytes]
    kernel: dict[str, Content]


def _check_step(step: Step) -> None:
    """Raises TreeError for a commit that cannot be a patch of the series."""
    if step.subject.startswith(_UNFINISHED):
        raise TreeError(f"{step.name} is not merged into its commit: run git rebase -i --autosquash base")
    topics = mail.trailers(step.message, mail.TOPIC)
    if len(topics) != 1 or not _TOPIC.fullmatch(topics[0]):
        what = "has no trailer 'Topic: NAME'" if not topics else f"has a bad trailer: Topic: {', '.join(topics)}"
        raise TreeError(f"{step.name} {what}")
    if not mail.trailers(step.message, mail.SIGNED):
        raise TreeError(f"{step.name} has no {mail.SIGNED}:")
    if not step.changes:
        raise TreeError(f"{step.name} changes nothing")


def topics(steps: Sequence[Step]) -> list[str]:
    """The topics in their order. Raises TreeError for a commit without one, and when they are interleaved."""
    found: list[str] = []
    for step in steps:
        _check_step(step)
        if found and step.topic == found[-1]:
            continue
        if step.topic in found:
            raise TreeError(f"{step.name}: topic {step.topic} is interleaved with {found[-1]}")
        found.append(step.topic)
    return found


def _whole(line: Line) -> set[str]:
    """The files that one step adds and no other touches."""
    count = Counter(name for step in line.steps for name in step.changes)
    return {name for name, times in count.items() if times == 1 and not line.base[name]}


def _stored_step(step: Step, whole: Collection[str]) -> Step:
    """The step as its mail has it: whole files are named, not contained."""
    changes: Overlay = {name: content for name, content in step.changes.items() if name not in whole}
    adds = [name for name in step.changes if name in whole]
    return replace(step, message=mail.with_adds(step.message, adds), changes=changes)


def _mails(line: Line, runner: Runner) -> Iterator[tuple[str, bytes]]:
    """The end of a name, and the mail, for each step. Raises TreeError for one that a mail would change."""
    if not line.steps:
        return
    with paths.scratch_dir() as scratch:
        repo = gitline.scratch_repo(scratch / "repo", line.base, line.steps, runner)
        tip = f"refs/heads/{gitline.BRANCH}"
        root = repo.lines("rev-list", "--max-parents=0", tip)[0]
        argv = ("format-patch", "-q", *_FORMAT, "-o", str(scratch / "mails"), f"{root}..{tip}")
        repo.git(*argv)
        for step, path in zip(line.steps, sorted((scratch / "mails").iterdir()), strict=True):
            data = path.read_bytes()
            found = mail.parse(data, step.name)
            if b"\nGIT binary patch\n" in found.diff or b"\nBinary files " in found.diff:
                raise TreeError(f"{step.name} edits a binary file; patches/ holds text only")
            _check_mail(step, found)
            _check_am(step, data, repo)
            yield path.name.partition("-")[2], data


def _mailed(message: str) -> str:
    """A message as a mail has it: the subject in one line."""
    head, _, rest = message.partition("\n\n")
    return " ".join(head.splitlines()) + (f"\n\n{rest}" if rest.strip() else "\n")


def _check_mail(step: Step, found: Mail) -> None:
    """A mail is to say what the commit says: no line of the message may be taken for the patch."""
    if (found.author, found.date) != (step.author, step.date):
        raise TreeError(f"{step.name}: its author or date does not survive in a mail: {step.author}, {step.date}")
    if found.message != _mailed(step.message):
        raise TreeError(f"{step.name}: its message does not survive in a mail (a line of '---' or 'diff'?)")


def _check_am(step: Step, data: bytes, repo: Repo) -> None:
    """git am is to see the same: lines such as "From:" or "Index:" mean something to it, and "[RFC]" does."""
    with paths.scratch_dir() as scratch:
        text, rest = scratch / "message", scratch / "diff"
        argv = ("mailinfo", "--encoding=UTF-8", str(text), str(rest))
        said = repo.git(*argv, stdin=data.decode(errors="replace"), check=False)
        found = dict(line.partition(": ")[::2] for line in said.stdout.splitlines())
        message = f"{found.get('Subject', '')}\n\n{text.read_text().strip() if text.exists() else ''}".strip()
    author = f"{found.get('Author', '')} <{found.get('Email', '')}>"
    if (author, message) != (step.author, _mailed(step.message).strip()):
        raise TreeError(f"{step.name}: git am would not see its author and message as they are")


def _keys(line: Line, messages: Sequence[str], wholes: Sequence[Collection[str]]) -> list[tuple[object, ...]]:
    """What each mail is made of: who, when, why, and the files that it contains, before and after."""
    state = dict(line.base)
    found: list[tuple[object, ...]] = []
    for step, message, whole in zip(line.steps, messages, wholes, strict=True):
        contained = [
            (name, state.get(name), content) for name, content in step.changes.items() if name not in whole
        ]
        found.append((step.author, step.date, message, *sorted(contained, key=itemgetter(0))))
        state.update(step.changes)
    return found


def _known(store: Store, line: Line, runner: Runner) -> dict[tuple[object, ...], bytes]:
    """The mails that are there by what they are made of; none if they do not apply to the same base."""
    try:
        with paths.scratch_dir() as base:
            for name, content in line.base.items():
                if content:
                    paths.write_file(base / name, content.data, content.mode)
            found = stored.line(store, base, runner=runner)
            patches = stored.load(store)
    except TreeError:
        return {}
    keys = _keys(found, [step.message for step in found.steps], [patch.adds for patch in patches])
    return dict(zip(keys, (patch.data for patch in patches), strict=True))


def exported(line: Line, store: Store, runner: Runner = SYSTEM) -> Export:
    """What the directories have to hold for these commits.

    A mail that is there, and says and does the same on this base, stays as it is: another point
    release moves lines, which alone changes no patch. Raises TreeError for what cannot be kept there.
    """
    order = topics(line.steps)
    whole = _whole(line)
    steps = [_stored_step(step, whole) for step in line.steps]
    known = _known(store, line, runner)
    found = list(_mails(Line(line.base, steps), runner))
    messages = [mail.parse(data, end).message for end, data in found]
    keys = _keys(Line(line.base, steps), messages, [()] * len(steps))
    patches, counts = {}, dict.fromkeys(order, 0)
    for step, key, (end, data) in zip(steps, keys, found, strict=True):
        counts[step.topic] += 1
        name = f"{order.index(step.topic) + 1:02}-{step.topic}/{counts[step.topic]:04}-{end}"
        patches[name] = known.get(key, data)
    final = stored.final(line)
    kernel = {name: content for name in whole if (content := final.get(name))}
    return Export(patches, kernel)


def _differing(found: Mapping[str, Content], wanted: Mapping[str, Content]) -> list[str]:
    """The names that are to change, to come or to go, sorted."""
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C and its like wait until the end. (A mask would not do: another thread may take the signal.)"""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, lambda got, _frame: came.append(got))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        if came:
            signal.raise_signal(came[0])


def _exchange(pairs: Sequence[tuple[Path, Path]], aside: Path) -> None:
    """Put each new directory in the place of the old one: all of them, or none."""
    done: list[tuple[Path, Path, Path]] = []
    with _undisturbed():
        try:
            for number, (new, place) in enumerate(pairs):
                old = aside / f"old-{number}"
                if place.exists():
                    place.rename(old)
                done.append((new, place, old))
                new.rename(place)
        except OSError:
            for new, place, old in reversed(done):
                if place.exists():
                    place.rename(new)
                if old.exists():
                    old.rename(place)
            raise


def _prepare(directory: Path, contents: Mapping[str, Content], present: Path, same: Mapping[str, Content]) -> None:
    """A new directory; files that stay the same keep their dates."""
    directory.mkdir()
    for name, content in contents.items():
        if same.get(name) == content:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(present / name, directory / name)
        else:
            paths.write_file(directory / name, content.data, content.mode)


def _present(store: Store) -> tuple[dict[str, Content], dict[str, Content]]:
    patches = {name: read_content(path) for name, path in overlay.files(store.patches)}
    kernel = (
        {name: read_content(path) for name, path in overlay.files(store.kernel)} if store.kernel.is_dir() else {}
    )
    return patches, kernel


def _mails_and_texts(wanted: Export, patches: Mapping[str, Content]) -> dict[str, Content]:
    """All of patches/: the mails, and what stands at its top (the text of the cover letter)."""
    texts = {name: content for name, content in patches.items() if "/" not in name}
    return texts | {name: Content(data) for name, data in wanted.patches.items()}


def differing(wanted: Export, store: Store) -> list[str]:
    """The names that write() would change, below their parent."""
    patches, kernel = _present(store)
    changed = _differing(patches, _mails_and_texts(wanted, patches))
    return [f"patches/{name}" for name in changed] + [
        f"kernel/{name}" for name in _differing(kernel, wanted.kernel)
    ]


def write(wanted: Export, store: Store) -> list[str]:
    """Make the directories hold just that; returns the names that changed, below their parent.

    Both are replaced at once: whatever ends the program, neither is half new. What stands at
    the top of patches/ (the text of the cover letter) stays.
    """
    patches, kernel = _present(store)
    mails = _mails_and_texts(wanted, patches)
    names = differing(wanted, store)
    store.patches.parent.mkdir(parents=True, exist_ok=True)
    with paths.scratch_dir(store.patches.parent) as aside:
        pairs = []
        if patches != mails:
            _prepare(aside / "patches", mails, store.patches, patches)
            pairs.append((aside / "patches", store.patches))
        if kernel != wanted.kernel:
            _prepare(aside / "kernel", wanted.kernel, store.kernel, kernel)
            pairs.append((aside / "kernel", store.kernel))
        _exchange(pairs, aside)
    return names
