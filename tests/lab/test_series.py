# SPDX-License-Identifier: GPL-2.0
"""The series as it is mailed: complete, by topic, in one piece; each step builds."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab import fakes
from tests.lab.conftest import REAL_CACHE
from vswaplab import cli
from vswaplab.build import kbuild
from vswaplab.errors import BuildError, SourceError, TreeError, UsageError
from vswaplab.progress import Silent
from vswaplab.series import mail, mails, stored
from vswaplab.series.stored import Store
from vswaplab.source import kernelorg, linux
from vswaplab.tree.gitrepo import Repo

REAL = stored.ours()
REAL_SOURCE = linux.cached(REAL_CACHE / "source")
needs_source = pytest.mark.skipif(REAL_SOURCE is None, reason="no kernel source in the cache")

small = pytest.mark.usefixtures("stored", "configs")


def repository(directory: Path) -> Repo:
    """A repository of the files that are there."""
    repo = Repo(directory)
    repo.init()
    repo.git("add", "-A", "-f")
    repo.commit("base\n")
    return repo


@small
def test_what_is_written(store: Store, tmp_path: Path) -> None:
    written = mails.write(tmp_path / "out", store)
    assert [path.relative_to(tmp_path / "out").as_posix() for path in written] == [
        "mail/0000-cover-letter.patch",
        "mail/0001-um-wait.patch",
        "mail/0002-mm-swap-add-a-hook.patch",
        "mail/0003-mm-vswap-the-first-half.patch",
        "mail/0004-mm-vswap-the-rest.patch",
        "squashed/01-um.patch",
        "squashed/02-prep.patch",
        "squashed/03-vswap.patch",
        "squashed/all.patch",
        "topics/01-um/0000-cover-letter.patch",
        "topics/01-um/0001-um-wait.patch",
        "topics/02-prep/0000-cover-letter.patch",
        "topics/02-prep/0001-mm-swap-add-a-hook.patch",
        "topics/03-vswap/0000-cover-letter.patch",
        "topics/03-vswap/0001-mm-vswap-the-first-half.patch",
        "topics/03-vswap/0002-mm-vswap-the-rest.patch",
    ]
    for path in written:
        text = path.read_text()
        assert "Topic:" not in text and "Adds:" not in text and "***" not in text, path
        assert path.parent.name == "mail" or "Subject: [PATCH" in text
    mails.write(tmp_path / "again", store)
    for path in written:
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(tmp_path / "out")).read_bytes()


@small
def test_the_letters(store: Store, stored: linux.Source, tmp_path: Path) -> None:
    mails.write(tmp_path / "out", store)
    cover = (tmp_path / "out/mail/0000-cover-letter.patch").read_text()
    assert "Subject: [PATCH 0/4] mm: virtual swap\n" in cover
    assert "First paragraph.\n\nSecond one.\n\nbase: v7.3.4\nprerequisite: linux-7.3.4.tar.xz sha256 " in cover
    assert stored.sha256 in cover
    topic = (tmp_path / "out/topics/03-vswap/0000-cover-letter.patch").read_text()
    assert "Subject: [PATCH 0/2] mm: virtual swap (part 3 of 3: vswap)\n" in topic
    assert "It goes on top of: 01-um, 02-prep." in topic
    squashed = (tmp_path / "out/squashed/03-vswap.patch").read_text()
    assert "  mm/vswap: the first half\n  mm/vswap: the rest\n" in squashed
    assert squashed.count(fakes.SIGNED) == 1


@small
def test_the_mails_apply_one_by_one(store: Store, base: Path, tmp_path: Path) -> None:
    written = mails.write(tmp_path / "out", store)
    repo = repository(base)
    repo.git("am", "-q", *map(str, written[1:5]))
    assert (base / "mm/vswap/space.c").read_text() == "int one;\nint two;\nint three;\n"
    assert repo.lines("log", "-1", "--format=%an%n%B", "HEAD~2") == [
        "J\u00f6rg Hacker", "mm/swap: add a hook", "", "Why it is needed.", "", fakes.SIGNED, "",
    ]  # fmt: skip
    repo.git("checkout", "-q", "HEAD~1")
    assert (base / "mm/vswap/Makefile").read_text() == "obj-y += space.o\n"
    assert not (base / "mm/vswap/zero.c").exists()
    repo.git("checkout", "-q", "HEAD~1")
    assert not (base / "mm/vswap").exists()
    lines = (base / "mm/swap.c").read_text().splitlines()
    assert "hook one" in lines and "hook two" not in lines


@small
@pytest.mark.parametrize("names", [["all"], ["01-um", "02-prep", "03-vswap"]])
def test_the_topics_in_one_piece(store: Store, base: Path, tmp_path: Path, names: Sequence[str]) -> None:
    """For git am and for patch, with the same result as the series."""
    wanted = stored.render(store, base)
    mails.write(tmp_path / "out", store)
    files = [tmp_path / f"out/squashed/{name}.patch" for name in names]
    plain = shutil.copytree(base, tmp_path / "plain")
    repository(base).git("am", "-q", *map(str, files))
    for file in files:
        subprocess.run(["patch", "-s", "-p1", "-i", str(file)], cwd=plain, check=True)
    for directory in (base, plain):
        for name, content in wanted.items():
            assert content and (directory / name).read_bytes() == content.data


@small
def test_one_topic(store: Store, tmp_path: Path) -> None:
    written = mails.write(tmp_path / "out", store, topic="prep")
    assert {path.parent.name for path in written} == {"02-prep", "squashed"} and len(written) == 3
    with pytest.raises(UsageError, match="no topic 'prop'; there are: um, prep, vswap"):
        mails.write(tmp_path / "other", store, topic="prop")


@small
def test_the_stored_mails_apply_with_git_am(store: Store, base: Path) -> None:
    """As far as they are complete: what Adds: names is in kernel/."""
    repo = repository(base)
    repo.git("am", "-q", *(str(store.patches / name) for name in (fakes.UM, fakes.HOOK, fakes.FIRST, fakes.REST)))
    assert "hook two" in (base / "mm/swap.c").read_text()


@small
def test_removed_file_and_new_mode(store: Store, tmp_path: Path) -> None:
    gone = "diff --git a/mm/gone.c b/mm/gone.c\ndeleted file mode 100644\n--- a/mm/gone.c\n+++ /dev/null\n"
    mode = "diff --git a/mm/other.c b/mm/other.c\nold mode 100644\nnew mode 100755\n"
    text = fakes.mail("mm: more", "vswap", f"{gone}@@ -1 +0,0 @@\n-to be removed\n{mode}")
    (store.patches / "03-vswap/0003-mm-more.patch").write_text(text)
    mails.write(tmp_path / "out", store)
    last = (tmp_path / "out/mail/0005-mm-more.patch").read_text()
    assert "deleted file mode 100644" in last
    assert "new mode 100755" in last


@small
@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "there is no patches/cover.txt"), ("", "needs a subject"), ("mm: subject\n", "and a text")],
)
def test_bad_cover(store: Store, tmp_path: Path, text: str | None, message: str) -> None:
    (store.patches / "cover.txt").unlink()
    if text is not None:
        (store.patches / "cover.txt").write_text(text)
    with pytest.raises(TreeError, match=message):
        mails.write(tmp_path / "out", store)
    assert not (tmp_path / "out").exists()


@small
def test_a_patch_that_nobody_signed(store: Store, tmp_path: Path) -> None:
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace(f"{fakes.SIGNED}\n", ""))
    with pytest.raises(TreeError, match=f"patches/{fakes.HOOK} has no Signed-off-by"):
        mails.write(tmp_path / "out", store)


@small
def test_target_in_the_way(store: Store) -> None:
    with pytest.raises(UsageError, match="not an empty directory"):
        mails.write(store.kernel, store)


@small
def test_every_step_is_built(store: Store, tmp_path: Path) -> None:
    """The second patch breaks the build and the third repairs it: that must be noticed."""
    mails.write(tmp_path / "good", store, build_steps=True)
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace("+hook one\n", "+BROKEN\n", 1))
    with pytest.raises(BuildError, match=rf"patches/{fakes.HOOK} \(mm/swap: add a hook\), release: "):
        mails.write(tmp_path / "bad", store, build_steps=True)
    assert not (tmp_path / "bad").exists()
    mails.write(tmp_path / "other", store, topic="um", build_steps=True)


@small
def test_the_last_step_is_the_series(store: Store, base: Path) -> None:
    line = stored.line(store, base)
    assert mails.at(line, len(line.steps) - 1) == stored.render(store, base)
    assert set(mails.at(line, 1)) == {"arch/um/tlb.c", "mm/swap.c"}


@pytest.mark.parametrize(
    ("headers", "author", "date"),
    [
        ("From: A B <a@b>\nDate: Thu, 1 Jan 1970 00:00:01 +0530\nSubject: x\n", "A B <a@b>", "-19799 +0530"),
        ("From: =?UTF-8?q?J=C3=B6?= <a@b>\nDate: 1 Jan 1970 00:01:00 -0000\nSubject: x\n", "Jö <a@b>", "60 +0000"),
        ("Date: Thu, 1 Jan 1970 00:00:01 +0000\nSubject: a\n long one\nFrom: A\n <a@b>\n", "A <a@b>", "1 +0000"),
    ],
)  # fmt: skip
def test_headers(headers: str, author: str, date: str) -> None:
    found = mail.parse(f"{headers}\nBody\n".encode(), "x")
    assert (found.author, found.date) == (author, date)
    assert found.message in ("x\n\nBody\n", "a long one\n\nBody\n")


def test_trailers() -> None:
    message = "mm: subject\n\nText: not a trailer\n\nTopic: a\nCc: x@y # 7.1\nSigned-off-by: A <a@b>\n"
    assert mail.trailers(message, "Cc") == ["x@y # 7.1"] and mail.trailers(message, "Text") == []
    added = mail.with_adds(message, ["mm/b.c", "mm/a.c"])
    assert added == message.replace("Topic: a\n", "Topic: a\nAdds: mm/a.c\nAdds: mm/b.c\n")
    assert mail.with_adds(added, ["mm/a.c"]) == message.replace("Topic: a\n", "Topic: a\nAdds: mm/a.c\n")
    assert mail.without(added, ["Topic", "Adds"]) == message.replace("Topic: a\n", "")
    assert mail.without("mm: subject\n\nTopic: a\n", ["Topic"]) == "mm: subject\n"
    assert mail.trailers("topic: it is: a subject\n", "topic") == []


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our own series as it is mailed, made from the base in the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(REAL_CACHE.parent))
    mails.write(tmp_path / "real", REAL)
    return tmp_path / "real"


def pristine() -> Path:
    assert REAL_SOURCE
    return linux.pristine(REAL_SOURCE)


def check_am(target: Path, real: Path, base: Path) -> None:
    """git am of all mails, and of all squashed topics, gives what the lab builds."""
    repo = repository(target)
    for files in (sorted((real / "mail").glob("*.patch"))[1:], sorted((real / "squashed").glob("[0-9]*.patch"))):
        repo.git("checkout", "-q", "-f", "-B", "try", "vswap")
        repo.git("am", "-q", *map(str, files))
        for name, content in stored.render(REAL, base).items():
            assert (target / name).exists() == (content is not None), name
            assert content is None or (target / name).read_bytes() == content.data, name


@needs_source
def test_the_real_mails_apply(real: Path, tmp_path: Path) -> None:
    check_am(fakes.edited_only(pristine(), tmp_path / "base"), real, pristine())


@needs_source
@pytest.mark.parametrize("lines", [8, 30, 120])
def test_the_real_series_finds_its_place_on_a_base_that_has_moved(tmp_path: Path, lines: int) -> None:
    """As on another point release: every hunk applies, and at the same code."""
    moved = fakes.edited_only(pristine(), tmp_path / "base")
    padding = b"/* padding */\n" * lines
    for name in stored.edited_names(REAL):
        (moved / name).write_bytes(padding + (moved / name).read_bytes())
    wanted = stored.render(REAL, pristine())
    found = stored.render(REAL, moved)
    for name in stored.edited_names(REAL):
        right, content = wanted[name], found[name]
        assert right and content and content.data == padding + right.data, name


@pytest.mark.long
@needs_source
def test_the_real_mails_apply_to_the_whole_base(real: Path, tmp_path: Path) -> None:
    check_am(shutil.copytree(pristine(), tmp_path / "base", symlinks=True), real, pristine())


CHECKPATCH_ACCEPTED = {  # what may be said, and why
    "FILE_PATH_CHANGES": "said of every new file, whatever MAINTAINERS has",
    "PARENTHESIS_ALIGNMENT": "macros of tracepoints, and lines that would be too long",
    "OPEN_ENDED_LINE": "macros of tracepoints, and lines that would be too long",
    "LINE_SPACING": "kunit_test_suite() follows its array everywhere",
    "BIT_MACRO": "a number of things is not a bit, and in backing.h shifts stand beside masks",
    "UNCOMMENTED_DEFINITION": "a local pointer to a lock",
    "UNDOCUMENTED_SETUP": "the documentation is a patch of its own",
    "JIFFIES_COMPARISON": "compared for being the same tick",
    "CONFIG_DESCRIPTION": "the help says what there is to say",
    "MSLEEP": "a test waits for another thread",
    "DATA_RACE": "the comment is above the loop",
    "CAMELCASE": "a field of zstd's, in a line that is quoted with another variable",
}


def complaints(patch: Path) -> list[str]:
    """What checkpatch says about a mail: the first line and the place of each."""
    script, ignored = str(pristine() / "scripts/checkpatch.pl"), ",".join(CHECKPATCH_ACCEPTED)
    argv = ["perl", script, "--strict", "--no-summary", "--terse", "--show-types", "--ignore", ignored]
    argv += [f"--root={pristine()}", str(patch)]
    # It leaves a list of names in the directory that it runs in.
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300, cwd=patch.parent)
    found = (line for line in done.stdout.splitlines() if re.search(r"(ERROR|WARNING|CHECK):", line))
    return [line.removeprefix(f"{patch}:") for line in found]


def test_messages_are_wrapped() -> None:
    """At the 75 columns that checkpatch asks for; trailers may be longer."""
    long = {
        f"{patch.name}: {line}"
        for patch in stored.load(REAL)
        for line in patch.mail.message.splitlines()
        if len(line) > 75 and not re.match(r"[A-Z][\w-]+: ", line)
    }
    assert not long


@pytest.mark.long
@needs_source
@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_checkpatch(real: Path) -> None:
    found = {path.name: complaints(path) for path in sorted((real / "mail").glob("*.patch"))[1:]}
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.long
@needs_source
def test_every_real_step_builds_and_boots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For User-Mode Linux, release and minimal: what a bisection needs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(REAL_CACHE.parent))
    build_in = kbuild.build_in
    booted = []

    def and_boot(*args: object, **options: object) -> kbuild.BuiltKernel:
        built = build_in(*args, **options)  # type: ignore[arg-type]
        # The name is not one of the lab's kernels': "vswap" is what was configured, this is its image.
        assert cli.main(["run", "--kernel", f"step={built.image}", "--", "true"]) == 0, built.image
        booted.append(built.image)
        return built

    monkeypatch.setattr(kbuild, "build_in", and_boot)
    mails.write(tmp_path / "out", REAL, build_steps=True)
    assert len(booted) == 2 * len(stored.load(REAL))


def newer_release(base: linux.Source, directory: Path) -> linux.Source:
    """The newest point release that kernel.org has. Raises SourceError; skips if it is the base."""
    sums = kernelorg._small_file(f"{kernelorg.BASE}sha256sums.asc").decode(errors="replace")
    name, _ = kernelorg.newest(sums, linux.SERIES)
    if name == f"linux-{base.version}.tar.xz":
        pytest.skip(f"{base.version} is the newest point release")
    with kernelorg.fetched(linux.SERIES, directory / "partial", Silent()) as tarball:
        return linux.store(tarball, directory)


@pytest.mark.long
@needs_source
def test_the_series_applies_to_the_newest_point_release(tmp_path: Path) -> None:
    assert REAL_SOURCE
    if os.environ.get(linux.OVERRIDE):
        pytest.skip(f"{linux.OVERRIDE} says which source is to be used")
    try:
        found = newer_release(REAL_SOURCE, tmp_path / "source")
    except SourceError as error:
        pytest.skip(f"only {REAL_SOURCE.version} can be had: {error}")
    assert stored.render(REAL, linux.pristine(found))
