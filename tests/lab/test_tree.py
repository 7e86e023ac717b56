# SPDX-License-Identifier: GPL-2.0
"""Working trees: made, edited, exported, and nothing lost on the way."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.lab import fakes
from tests.lab.conftest import REAL_CACHE
from vswaplab.errors import TreeError, UsageError
from vswaplab.series import export, stored
from vswaplab.series.stored import Store
from vswaplab.source import linux
from vswaplab.tree import footprint, overlay, worktree
from vswaplab.tree.gitrepo import Repo

REAL = stored.ours()


def snapshot(*directories: Path) -> dict[str, tuple[bytes, bool]]:
    """Every file with its content and whether it is executable."""
    return {
        f"{directory.name}/{path.relative_to(directory).as_posix()}": (path.read_bytes(), os.access(path, os.X_OK))
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def both(store: Store) -> dict[str, tuple[bytes, bool]]:
    return snapshot(store.patches, store.kernel)


def commit(tree: Path, message: str = "mm/vswap: more", topic: str = "vswap") -> None:
    """Everything that differs, as one more patch."""
    repo = Repo(tree)
    repo.git("add", "-A")
    repo.commit(f"{message}\n\nTopic: {topic}\n{fakes.SIGNED}\n")


def fixup(tree: Path, subject: str) -> None:
    """Everything that differs into the commit with this subject, as a user would do it."""
    repo = Repo(tree)
    repo.git("add", "-A")
    found = repo.lines("log", "--format=%H", f"--grep=^{subject}$")[0]
    repo.git("commit", "-q", f"--fixup={found}")
    repo.git("rebase", "-q", "-i", "--autosquash", worktree.BASE_TAG, env={"GIT_SEQUENCE_EDITOR": "true"})


@pytest.fixture
def made(base: Path, store: Store, tmp_path: Path) -> Path:
    """A working tree of the small base and the small series."""
    worktree.make(base, "7.3.4", tmp_path / "tree", store)
    return tmp_path / "tree"


def test_tree_is_the_base_and_a_commit_for_each_patch(made: Path, base: Path) -> None:
    repo = Repo(made)
    assert repo.lines("log", "--format=%s") == [
        "mm/vswap: the rest", "mm/vswap: the first half", "mm/swap: add a hook", "um: wait", "Linux 7.3.4",
    ]  # fmt: skip
    assert repo.lines("status", "--porcelain") == []
    changed = repo.lines("diff", "--name-only", "HEAD~2", "HEAD~")
    assert changed == ["mm/swap.c", "mm/vswap/Makefile", "mm/vswap/space.c"]
    committed = repo.lines("ls-tree", "-r", "--name-only", "base")
    assert {f"base/{name}" for name in committed} == set(snapshot(base))
    lines = (made / "mm/swap.c").read_text().splitlines()
    assert (lines[10], lines[39], len(lines)) == ("hook one", "hook two", 41)
    said = repo.lines("log", "-1", "--format=%an <%ae>, %ad%n%B", "HEAD~")
    assert said == [
        f"{fakes.AUTHOR}, Sun Nov 22 12:00:00 2026 -0330", "mm/vswap: the first half", "", "Why.", "",
        "Topic: vswap", "Adds: mm/vswap/space.c", fakes.SIGNED, "",
    ]  # fmt: skip


def test_the_same_base_is_the_same_commit(made: Path, base: Path, store: Store, tmp_path: Path) -> None:
    worktree.make(base, "7.3.4", tmp_path / "other", store)
    assert Repo(made).lines("rev-parse", "HEAD") == Repo(tmp_path / "other").lines("rev-parse", "HEAD")


def test_mainline_tree_is_the_base(base: Path, tmp_path: Path) -> None:
    worktree.make(base, "7.3.4", tmp_path / "base-tree", None)
    made = snapshot(tmp_path / "base-tree")
    assert {name.replace("base-tree/", "base/"): value for name, value in made.items()} == snapshot(base)


def test_export_of_an_unedited_tree_changes_nothing(made: Path, store: Store) -> None:
    before = both(store)
    assert worktree.export_tree(made, store) == []
    assert both(store) == before


def test_export_keeps_edits_that_are_not_committed(made: Path, store: Store) -> None:
    """Of files that it would write, --force or not; and of no others."""
    project = Repo(store.patches.parent)
    project.init()
    project.git("add", "--", store.patches.name, store.kernel.name)
    project.commit("all of it\n")
    commit_of_more(made)
    edited = store.kernel / "mm/vswap/space.c"
    (made / "mm/vswap/space.c").write_text("/* in the tree */\n")
    Repo(made).git("commit", "-q", "--amend", "-a", "--no-edit")
    content = edited.read_text()
    edited.write_text("/* an hour's work */\n")
    for force in (False, True):
        with pytest.raises(TreeError, match=r"kernel/mm/vswap/space.c would be overwritten.* not committed"):
            worktree.export_tree(made, store, force=force)
    assert edited.read_text() == "/* an hour's work */\n"
    edited.write_text(content)
    (store.kernel / "mm/vswap/zero.c").touch()
    assert "kernel/mm/vswap/space.c" in worktree.export_tree(made, store, force=True)


def test_export_is_stable(made: Path, base: Path, store: Store, tmp_path: Path) -> None:
    """What export writes, export writes again, byte for byte, from a tree made of it as well."""
    empty = Store(tmp_path / "new/patches", tmp_path / "new/kernel")
    names = worktree.export_tree(made, empty, force=True)
    mails = [fakes.UM, fakes.HOOK, fakes.FIRST, fakes.REST]
    assert names == [*(f"patches/{name}" for name in mails), "kernel/mm/vswap/space.c", "kernel/mm/vswap/zero.c"]
    first = both(empty)
    shutil.rmtree(tmp_path / "new")
    worktree.export_tree(made, empty, force=True)
    assert both(empty) == first
    worktree.make(base, "7.3.4", tmp_path / "again", empty)
    shutil.rmtree(tmp_path / "new")
    worktree.export_tree(tmp_path / "again", empty, force=True)
    assert both(empty) == first
    assert stored.render(empty, base) == stored.render(store, base)
    text = (empty.patches / fakes.HOOK).read_text()
    blobs = text[text.index("index ") : text.index("--- a/")]
    assert text.replace(blobs, "") == (store.patches / fakes.HOOK).read_text(), "as git format-patch writes it"


def edit(directory: Path) -> None:
    """One of everything that can be done to a tree."""
    swap = directory / "mm/swap.c"
    swap.write_bytes(swap.read_bytes().replace(b"line 20\n", b"l\xe4ne 20\r\nform\x0cfeed\n").rstrip(b"\n"))
    (directory / "mm/other.c").chmod(0o755)
    (directory / "mm/gone.c").unlink()
    (directory / "mm/vswap/space.c").unlink()
    (directory / "mm/vswap/backing.h").write_bytes(b"no newline at the end \xff")
    (directory / "tools").mkdir()
    (directory / "tools/run.sh").write_text("#!/bin/sh\n")
    (directory / "tools/run.sh").chmod(0o755)
    (directory / "mm/vswap/empty").touch()


def test_round_trip_loses_nothing(made: Path, base: Path, store: Store, tmp_path: Path) -> None:
    edit(made)
    commit(made)
    touched = worktree.export_tree(made, store)
    assert touched == [
        f"patches/{fakes.FIRST}", "patches/03-vswap/0003-mm-vswap-more.patch",
        "kernel/mm/vswap/backing.h", "kernel/mm/vswap/empty", "kernel/mm/vswap/space.c", "kernel/tools/run.sh",
    ]  # fmt: skip
    (tmp_path / "again").mkdir()
    worktree.make(base, "7.3.4", tmp_path / "again/tree", store)
    assert snapshot(tmp_path / "again/tree") == snapshot(made)
    assert worktree.export_tree(made, store) == []
    assert worktree.export_tree(tmp_path / "again/tree", store) == []


def test_a_file_that_two_commits_touch_is_in_the_patches(made: Path, store: Store) -> None:
    (made / "mm/vswap/space.c").write_text("int other;\n")
    commit(made)
    assert "kernel/mm/vswap/space.c" in worktree.export_tree(made, store)
    assert not (store.kernel / "mm/vswap/space.c").exists()
    assert "Adds:" not in (store.patches / fakes.FIRST).read_text()
    assert "+int three;" in (store.patches / fakes.FIRST).read_text()
    assert stored.new_files(store)["mm/vswap/space.c"].data == b"int other;\n"


def test_a_fixup_lands_in_its_patch(made: Path, store: Store) -> None:
    swap = made / "mm/swap.c"
    swap.write_text(swap.read_text().replace("hook one\n", "hook 1\n"))
    (made / "mm/vswap/zero.c").write_text("int nothing;\n")
    repo = Repo(made)
    repo.git("add", "mm/vswap/zero.c")
    repo.git("commit", "-q", "--fixup=HEAD")
    with pytest.raises(TreeError, match="mm/swap.c"):
        worktree.export_tree(made, store)
    repo.git("add", "mm/swap.c")
    repo.git("commit", "-q", "--fixup=HEAD~3")
    with pytest.raises(TreeError, match=r"fixup! .*--autosquash base"):
        worktree.export_tree(made, store)
    repo.git("rebase", "-q", "-i", "--autosquash", "base", env={"GIT_SEQUENCE_EDITOR": "true"})
    before = both(store)
    assert worktree.export_tree(made, store)[-1] == "kernel/mm/vswap/zero.c"
    after = both(store)
    assert b"+hook 1\n" in after[f"patches/{fakes.HOOK}"][0]
    assert (store.kernel / "mm/vswap/zero.c").read_text() == "int nothing;\n"
    assert after[f"patches/{fakes.UM}"] == before[f"patches/{fakes.UM}"]
    assert after[f"patches/{fakes.REST}"] == before[f"patches/{fakes.REST}"]
    assert set(after) == set(before)


def test_a_hunk_that_moves_to_an_earlier_patch(made: Path, base: Path, store: Store) -> None:
    """The later commit ends with the same files as before, but its patch is another one."""
    repo = Repo(made)
    branch = repo.lines("branch", "--show-current")[0]
    before, hook = repo.lines("rev-parse", "HEAD", "HEAD~2")
    repo.git("checkout", "-q", "--detach", hook)
    swap = made / "mm/swap.c"
    swap.write_text(swap.read_text().replace("line 39\n", ""))
    repo.git("commit", "-q", "-a", "--amend", "--no-edit")
    repo.git("rebase", "-q", "-X", "theirs", "--onto", "HEAD", hook, branch)
    assert repo.git("diff", before, "HEAD").stdout == ""
    assert worktree.export_tree(made, store) == [f"patches/{fakes.HOOK}", f"patches/{fakes.FIRST}"]
    assert "-line 39" not in (store.patches / fakes.FIRST).read_text()
    assert stored.render(store, base)  # the patches apply
    assert worktree.export_tree(made, store) == []


def test_build_output_is_not_exported(made: Path, store: Store) -> None:
    (made / "mm/swap.o").write_text("object")
    (made / ".config").write_text("CONFIG_X=y")
    assert worktree.export_tree(made, store) == []


def test_ignored_names_of_ours_survive(made: Path, base: Path, store: Store) -> None:
    """The kernel ignores names like .kunitconfig; a file of kernel/ is ours all the same."""
    (store.kernel / "mm/vswap/.kunitconfig").write_text("CONFIG_KUNIT=y\n")
    rest = store.patches / fakes.REST
    rest.write_text(rest.read_text().replace("Adds: ", "Adds: mm/vswap/.kunitconfig\nAdds: "))
    assert worktree.refresh(base, "7.3.4", made, store)
    assert (made / "mm/vswap/.kunitconfig").exists()
    assert worktree.export_tree(made, store) == []


def test_a_commit_that_is_dropped_goes_from_both(made: Path, store: Store) -> None:
    Repo(made).git("reset", "-q", "--hard", "HEAD~")
    assert worktree.export_tree(made, store) == [
        f"patches/{fakes.FIRST}", f"patches/{fakes.REST}", "kernel/mm/vswap/Makefile", "kernel/mm/vswap/zero.c",
    ]  # fmt: skip
    assert (store.patches / "cover.txt").exists(), "the cover letter is no patch"
    assert "Adds: mm/vswap/Makefile\nAdds: mm/vswap/space.c\n" in (store.patches / fakes.FIRST).read_text()


def test_export_refuses_to_undo_newer_edits(made: Path, store: Store) -> None:
    (store.kernel / "mm/vswap/zero.c").write_text("int newer;\n")
    with pytest.raises(TreeError, match="has changed since"):
        worktree.export_tree(made, store)
    assert (store.kernel / "mm/vswap/zero.c").read_text() == "int newer;\n"
    assert worktree.export_tree(made, store, force=True) == ["kernel/mm/vswap/zero.c"]
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace("Why it is needed.", "A better reason."))
    with pytest.raises(TreeError, match="has changed since"):
        worktree.export_tree(made, store)


def test_an_export_that_was_cut_off_is_no_newer_edit(
    made: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_of_more(made)
    with monkeypatch.context() as patched:
        patched.setattr(worktree, "_mark", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worktree.export_tree(made, store)
    assert worktree.export_tree(made, store) == []


def commit_of_more(tree: Path) -> None:
    (tree / "mm/vswap/more.c").write_text("int more;\n")
    commit(tree)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_neither_directory_is_half_new(made: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of the two cannot be put in place, and Ctrl-C comes in between: all is as it was."""
    commit_of_more(made)
    before = both(store)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target == store.kernel and self.name == "kernel":
            os.kill(os.getpid(), signal.SIGINT)
            raise OSError("no")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", failing)
        with pytest.raises((OSError, KeyboardInterrupt)):
            worktree.export_tree(made, store)
    assert both(store) == before
    assert sorted(path.name for path in store.kernel.parent.iterdir()) == ["kernel", "patches"]
    assert len(worktree.export_tree(made, store)) == 2


def test_ctrl_c_while_it_prepares(made: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_of_more(made)
    before = both(store)
    monkeypatch.setattr(export, "_prepare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        worktree.export_tree(made, store)
    assert both(store) == before
    assert sorted(path.name for path in store.kernel.parent.iterdir()) == ["kernel", "patches"]


def test_export_from_a_foreign_tree(base: Path, store: Store) -> None:
    """Any repository whose first commit is the pristine base will do."""
    repo = Repo(base)
    repo.init()
    repo.git("add", "-A", "-f")
    repo.commit("pristine\n")
    (base / "mm/new.c").write_text("new\n")
    commit(base, "mm: new", "all")
    worktree.export_tree(base, store)
    names = set(both(store))
    assert names == {"patches/cover.txt", "patches/01-all/0001-mm-new.patch", "kernel/mm/new.c"}


def test_export_of_something_else(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UsageError, match="is not a kernel tree"):
        worktree.export_tree(tmp_path, store)


def test_a_tree_from_before_is_not_overwritten(made: Path, base: Path, store: Store) -> None:
    (Repo(made).git_dir() / "vswap-kernel").write_text("0123abcd")
    with pytest.raises(TreeError, match="has edits"):
        worktree.refresh(base, "7.3.4", made, store)


def test_nothing_on_top_of_the_first_commit(made: Path, store: Store, tmp_path: Path) -> None:
    """Neither a repository of one commit nor a shallow clone is a series without patches."""
    before = both(store)
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{made}", shallow], check=True)
    with pytest.raises(TreeError, match="shallow"):
        worktree.export_tree(shallow, store, force=True)
    Repo(made).git("checkout", "-q", "--detach", "base")
    with pytest.raises(TreeError, match="no commits on top"):
        worktree.export_tree(made, store, force=True)
    assert both(store) == before


def test_an_edit_of_the_base(made: Path, store: Store) -> None:
    """It would be in no patch."""
    repo = Repo(made)
    repo.git("checkout", "-q", "--detach", "base")
    (made / "mm/other.c").write_text("edited\n")
    repo.git("commit", "-q", "-a", "--amend", "--no-edit")
    repo.git("rebase", "-q", "--onto", "HEAD", "base", "vswap")
    with pytest.raises(TreeError, match="tag base"):
        worktree.export_tree(made, store, force=True)


def test_a_repository_in_the_environment_is_left_alone(
    base: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git sets these for hooks in worktrees."""
    victim = Repo(tmp_path / "victim")
    victim.path.mkdir()
    victim.init()
    victim.commit("mine\n")
    before = victim.lines("for-each-ref") + victim.lines("rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(victim.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(victim.path / ".git/index.lock"))
    worktree.make(base, "7.3.4", tmp_path / "tree", store)
    assert worktree.export_tree(tmp_path / "tree", store) == []
    assert victim.lines("for-each-ref") + victim.lines("rev-parse", "HEAD") == before


def test_export_in_the_middle_of_a_rebase(made: Path, store: Store) -> None:
    editor = {"GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"}
    Repo(made).git("rebase", "-q", "-i", "base", env=editor, check=False)
    with pytest.raises(TreeError, match="in the middle of a rebase"):
        worktree.export_tree(made, store)


BAD_MESSAGES = {
    f"mm: no topic\n\n{fakes.SIGNED}\n": r"mm: no topic\) has no trailer 'Topic: NAME'",
    f"mm: a bad one\n\nTopic: A b\n{fakes.SIGNED}\n": "has a bad trailer: Topic: A b",
    f"mm: two\n\nTopic: a\nTopic: b\n{fakes.SIGNED}\n": "has a bad trailer: Topic: a, b",
    "mm: nobody\n\nTopic: vswap\n": "mm: nobody.* has no Signed-off-by",
    f"mm: in between\n\nTopic: prep\n{fakes.SIGNED}\n": "mm: in between.* prep is interleaved with vswap",
    f"mm: cut off\n\n---\nmore\n\nTopic: vswap\n{fakes.SIGNED}\n": "mm: cut off.* does not survive",
    f"mm: cut off\n\ndiff --git a/x b/x\n\nTopic: vswap\n{fakes.SIGNED}\n": "mm: cut off.* ",
}


@pytest.mark.parametrize("message", BAD_MESSAGES)
def test_a_commit_that_is_no_patch(made: Path, store: Store, message: str) -> None:
    before = both(store)
    (made / "mm/other.c").write_text("edited\n")
    repo = Repo(made)
    repo.git("add", "-A")
    repo.commit(message)
    with pytest.raises(TreeError, match=BAD_MESSAGES[message]):
        worktree.export_tree(made, store)
    assert both(store) == before


def test_an_empty_commit(made: Path, store: Store) -> None:
    commit(made, "mm: nothing")
    with pytest.raises(TreeError, match="mm: nothing.* changes nothing"):
        worktree.export_tree(made, store)


def test_a_merge(made: Path, store: Store) -> None:
    repo = Repo(made)
    repo.git("checkout", "-q", "-b", "side", "HEAD~")
    commit_of_more(made)
    repo.git("checkout", "-q", "vswap")
    repo.git("merge", "-q", "--no-edit", "side")
    with pytest.raises(TreeError, match="is a merge"):
        worktree.export_tree(made, store)


def test_export_of_a_symbolic_link(made: Path, store: Store) -> None:
    (made / "mm/link.c").symlink_to("swap.c")
    commit(made)
    with pytest.raises(TreeError, match="mm/link.c is a symbolic link"):
        worktree.export_tree(made, store)


def test_a_long_subject_and_other_letters_survive(made: Path, base: Path, store: Store, tmp_path: Path) -> None:
    (made / "mm/other.c").write_text("edited\n")
    commit(made, f"mm: {'long ' * 30}, and G\u00f6del\n\nBody with \u2264.\n\n[PATCH] is not a prefix here")
    worktree.export_tree(made, store)
    worktree.make(base, "7.3.4", tmp_path / "again", store)
    said = Repo(tmp_path / "again").lines("log", "-1", "--format=%B")
    assert said == Repo(made).lines("log", "-1", "--format=%B")
    assert worktree.export_tree(tmp_path / "again", store) == []


QUOTED = ["Matthew Person (Company)", "John Q. Public", "Zhang, Wei", "J\u00f6rg X. Hacker"]


@pytest.mark.parametrize("name", QUOTED)
def test_names_that_mails_quote_survive(made: Path, store: Store, tmp_path: Path, name: str) -> None:
    (made / "mm/other.c").write_text("edited\n")
    repo = Repo(made)
    message = f"mm: other\n\nWhy.\n\nTopic: vswap\nSigned-off-by: {name} <a@example.org>\n"
    repo.git("commit", "-q", "-a", "-F", "-", f"--author={name} <a@example.org>", stdin=message)
    worktree.export_tree(made, store)
    assert stored.load(store)[-1].mail.author == f"{name} <a@example.org>"


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ("[RFC] mm: other", "Why."),
        ("mm: other", "From: Somebody <else@example.org>\n\nWhy."),
        ("mm: other", "Why.\n\nIndex: of something\n\nMore."),
    ],
)
def test_what_git_am_would_read_otherwise(made: Path, store: Store, subject: str, body: str) -> None:
    before = both(store)
    (made / "mm/other.c").write_text("edited\n")
    message = f"{subject}\n\n{body}\n\nTopic: vswap\n{fakes.SIGNED}\n"
    Repo(made).git("commit", "-q", "-a", "-F", "-", stdin=message)
    with pytest.raises(TreeError, match="git am|survive"):
        worktree.export_tree(made, store)
    assert both(store) == before


def test_failing_hunk_is_named(base: Path, store: Store, tmp_path: Path) -> None:
    swap = base / "mm/swap.c"
    swap.write_text(swap.read_text().replace("line 39\n", "rewritten\n"))
    said = rf"patches/{fakes.FIRST} does not apply: hunk 1 \(@@ -37,5.*mm/swap.c"
    with pytest.raises(TreeError, match=said):
        worktree.make(base, "7.3.5", tmp_path / "tree", store)
    assert not (tmp_path / "tree").exists()
    assert not list(tmp_path.glob(".tree*"))


def test_point_release_that_moves_lines(base: Path, store: Store, tmp_path: Path) -> None:
    """The edits apply at other line numbers, and an export leaves patches/ and kernel/ as they are."""
    swap = base / "mm/swap.c"
    swap.write_text("new at the top\n" * 7 + swap.read_text())
    before = both(store)
    worktree.make(base, "7.3.5", tmp_path / "tree", store)
    assert worktree.export_tree(tmp_path / "tree", store) == []
    assert both(store) == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("patches/rest/0001-a.patch", "", "rest is no topic"),
        ("patches/04-prep/0001-a.patch", "", "has prep twice: 02-prep and 04-prep"),
        ("patches/03-more/0001-a.patch", "", "has 03 twice"),
        ("patches/02-prep/notes", "", "02-prep/notes is no patch"),
        ("patches/02-prep/0002-a.patch", "garbage\n", "0002-a.patch is not a mail .* no From:"),
        ("patches/02-prep/0002-a.patch", fakes.mail("mm: a", "vswap"), "says 'Topic: vswap'; its directory"),
        ("patches/02-prep/0002-a.patch", fakes.mail("mm: a", "prep", "--- a/mm/other.c\n+++ b/mm/other.c\n"),
         "without lines 'diff --git'"),
        ("patches/02-prep/0002-a.patch",
         fakes.mail("mm: a", "prep", fakes.diff("mm/other.c", "@@ -1 +1 @@\n-x\n+y\n")),
         r"0002-a.patch does not apply: hunk 1 \(@@ -1 \+1 @@\) of mm/other.c"),
        ("patches/02-prep/0002-a.patch", fakes.mail("mm: a", "prep", adds="mm/missing.c"),
         "0002-a.patch adds mm/missing.c, which is not in kernel/"),
        ("patches/02-prep/0002-a.patch", fakes.mail("mm: a", "prep", adds="mm/vswap/zero.c"),
         "adds mm/vswap/zero.c, which patches/02-prep/0002-a.patch adds"),
        ("patches/04-late/0001-a.patch",
         fakes.mail("mm: a", "late", fakes.diff("mm/vswap/zero.c", "@@ -1 +1 @@\n-int zero;\n+int no;\n")),
         "edits mm/vswap/zero.c, which is a whole file"),
        ("kernel/mm/stray.c", "stray\n", "kernel/mm/stray.c is in no patch"),
    ],
)  # fmt: skip
def test_bad_directories(base: Path, store: Store, name: str, text: str, message: str) -> None:
    fakes.write_tree(store.kernel.parent, {name: text})
    with pytest.raises(TreeError, match=message):
        stored.render(store, base)


def test_a_whole_file_that_the_base_has(base: Path, store: Store) -> None:
    (base / "mm/vswap").mkdir()
    (base / "mm/vswap/zero.c").touch()
    with pytest.raises(TreeError, match="adds mm/vswap/zero.c, which this base has"):
        stored.render(store, base)


def test_there_are_no_patches(base: Path, store: Store) -> None:
    shutil.rmtree(store.patches)
    with pytest.raises(TreeError, match="there is no .*patches"):
        stored.render(store, base)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("mm/nowhere.c.patch", "--- a/mm/nowhere.c\n", "which this base does not have"),
        ("mm/other.c", "ours\n", "is a file of the base"),
        ("mm/gone.c.patch", "garbage\n", "does not apply"),
        (
            "mm/gone.c.patch",
            "--- a/mm/gone.c\n+++ b/mm/gone.c\n@@ -1 +1 @@\n-to be removed\n+x\n"
            "--- /dev/null\n+++ b/mm/more.c\n@@ -0,0 +1 @@\n+more\n",
            "edits mm/more.c as well",
        ),
    ],
)
def test_bad_bench_directory(base: Path, bench: Path, name: str, text: str, message: str) -> None:
    fakes.write_tree(bench, {name: text})
    with pytest.raises(TreeError, match=message):
        overlay.render(bench, base, {})


def test_refresh(made: Path, base: Path, store: Store) -> None:
    assert not worktree.refresh(base, "7.3.4", made, store)
    (store.kernel / "mm/vswap/space.c").write_text("int changed;\n")
    (store.patches / fakes.HOOK).unlink()
    assert worktree.refresh(base, "7.3.4", made, store)
    assert (made / "mm/vswap/space.c").read_text() == "int changed;\n"
    assert "hook one" not in (made / "mm/swap.c").read_text()
    assert len(Repo(made).lines("rev-list", "HEAD")) == 4
    assert Repo(made).lines("status", "--porcelain") == []


@pytest.mark.parametrize("committed", [False, True])
def test_refresh_keeps_edits(made: Path, base: Path, store: Store, committed: bool) -> None:
    (store.kernel / "mm/vswap/space.c").write_text("int changed;\n")
    (made / "mm/other.c").write_text("precious\n")
    if committed:
        fixup(made, "um: wait")
    with pytest.raises(TreeError, match="has edits"):
        worktree.refresh(base, "7.3.4", made, store)
    assert (made / "mm/other.c").read_text() == "precious\n"


def test_refresh_keeps_a_branch_that_is_not_checked_out(made: Path, base: Path, store: Store) -> None:
    """And what a rebase has in hand."""
    commit_of_more(made)
    Repo(made).git("checkout", "-q", "--detach", "HEAD~")
    (store.kernel / "mm/vswap/zero.c").write_text("int newer;\n")
    with pytest.raises(TreeError, match="has edits"):
        worktree.refresh(base, "7.3.4", made, store)
    Repo(made).git("branch", "-f", "vswap")
    (Repo(made).git_dir() / "rebase-merge").mkdir()
    with pytest.raises(TreeError, match="has edits"):
        worktree.refresh(base, "7.3.4", made, store)


@pytest.mark.parametrize("edited", [False, True])
def test_refresh_of_a_tree_of_one_commit(made: Path, base: Path, store: Store, edited: bool) -> None:
    """From before there were patches: what is more than that commit is somebody's work."""
    repo = Repo(made)
    mark = repo.git_dir() / "vswap-kernel"
    repo.git("reset", "-q", "--soft", repo.root())
    repo.commit("vswap: what kernel/ adds to the base\n")
    mark.write_text("0123456789abcdef\n")
    if edited:
        repo.git("commit", "-q", "--allow-empty", "-m", "work")
        with pytest.raises(TreeError, match="has edits"):
            worktree.refresh(base, "7.3.4", made, store)
    else:
        assert worktree.refresh(base, "7.3.4", made, store)
        assert len(repo.lines("log", "--format=%H")) > 2


def test_refresh_after_an_export(made: Path, base: Path, store: Store) -> None:
    """What was exported is no edit: an edit in kernel/ after it gets into the tree."""
    commit_of_more(made)
    worktree.export_tree(made, store)
    (store.kernel / "mm/vswap/more.c").write_text("int even_more;\n")
    assert worktree.refresh(base, "7.3.4", made, store)
    assert (made / "mm/vswap/more.c").read_text() == "int even_more;\n"


def test_refresh_with_another_base(made: Path, base: Path, store: Store) -> None:
    (store.kernel / "mm/vswap/space.c").write_text("int changed;\n")
    with pytest.raises(TreeError, match="is Linux 7.3.4, the base is Linux 7.3.5 now"):
        worktree.refresh(base, "7.3.5", made, store)


def test_target_in_the_way(base: Path, store: Store, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(UsageError, match="not empty"):
        worktree.make(base, "7.3.4", tmp_path / "full", store)
    (tmp_path / "empty").mkdir()
    worktree.make(base, "7.3.4", tmp_path / "empty", store)


def test_footprint(base: Path, store: Store) -> None:
    assert footprint.footprint(store, base) == footprint.Footprint(
        {"arch/um/tlb.c": 1, "mm/swap.c": 3},
        {"mm/vswap/Makefile": 2, "mm/vswap/space.c": 3, "mm/vswap/zero.c": 1},
    )


def test_a_line_that_two_patches_touch_counts_once(made: Path, base: Path, store: Store) -> None:
    swap = made / "mm/swap.c"
    swap.write_text(swap.read_text().replace("hook two\n", "--- hook\n++ 2\n"))
    commit(made)
    worktree.export_tree(made, store)
    assert footprint.footprint(store, base).edited["mm/swap.c"] == 4


def test_what_is_edited_and_what_is_new(store: Store) -> None:
    assert stored.edited_names(store) == ["arch/um/tlb.c", "mm/swap.c"]
    found = stored.new_files(store)
    assert list(found) == ["mm/vswap/Makefile", "mm/vswap/space.c", "mm/vswap/zero.c"]
    assert found["mm/vswap/Makefile"].data == b"obj-y += space.o\nobj-y += zero.o\n"


def test_mainline_has_the_topic_um_alone(base: Path, store: Store) -> None:
    assert list(stored.render(store, base, topics=(stored.BASE_TOPIC,))) == ["arch/um/tlb.c"]


def test_the_checksum_is_of_effects(store: Store) -> None:
    before, everything = stored.effect_hash(store), stored.content_hash(store)
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace("Why it is needed.", "In other words."))
    assert stored.effect_hash(store) == before and stored.content_hash(store) != everything
    um = stored.effect_hash(store, (stored.BASE_TOPIC,))
    (store.kernel / "mm/vswap/zero.c").write_text("int zeroes;\n")
    assert stored.effect_hash(store) != before and stored.effect_hash(store, (stored.BASE_TOPIC,)) == um


def real_source() -> linux.Source | None:
    return linux.cached(REAL_CACHE / "source")


needs_source = pytest.mark.skipif(real_source() is None, reason="no kernel source in the cache")


def real_copy(directory: Path) -> Store:
    """Our own patches/ and kernel/, to be exported to."""
    shutil.copytree(REAL.patches, directory / "patches")
    shutil.copytree(REAL.kernel, directory / "kernel")
    return Store(directory / "patches", directory / "kernel")


def exported_afresh(tree: Path, copy: Store) -> dict[str, tuple[bytes, bool]]:
    """What export writes where nothing is yet, but for the cover letter, which it does not write."""
    cover = (copy.patches / stored.COVER).read_bytes()
    shutil.rmtree(copy.patches)
    shutil.rmtree(copy.kernel)
    worktree.export_tree(tree, copy, force=True)
    (copy.patches / stored.COVER).write_bytes(cover)
    return both(copy)


@needs_source
def test_round_trip_of_the_real_series(tmp_path: Path) -> None:
    """Our series applied to the real base's files and exported again is the same series."""
    found = real_source()
    assert found
    unpacked = linux.pristine(found)
    base = tmp_path / "real-base"
    for name in [*stored.edited_names(REAL), ".gitignore", ".gitattributes"]:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(unpacked / name, base / name)
    copy = real_copy(tmp_path / "copy")
    before = both(copy)
    worktree.make(base, found.version, tmp_path / "tree", copy)
    assert worktree.export_tree(tmp_path / "tree", copy) == []
    after = exported_afresh(tmp_path / "tree", copy)
    assert set(after) == set(before)
    assert after == before, "patches/ is not in the form that export writes"


@pytest.mark.long
@needs_source
def test_round_trip_of_the_whole_real_tree(tmp_path: Path) -> None:
    """The same with all of the base, so that its .gitignore files have their say."""
    found = real_source()
    assert found
    copy = real_copy(tmp_path / "copy")
    worktree.make(linux.pristine(found), found.version, tmp_path / "tree", copy)
    before = both(copy)
    assert exported_afresh(tmp_path / "tree", copy) == before


@needs_source
def test_edits_of_the_base_stay_few() -> None:
    """The budget: 800 changed lines for everything but what helps mainline alike: User-Mode Linux, and fixes."""
    found = real_source()
    assert found
    base = linux.pristine(found)
    edits = footprint.footprint(REAL, base).by_purpose()
    fixes = footprint.footprint(REAL, base, ("fixes",)).by_purpose()
    assert edits.pop("User-Mode Linux") > 0 and 0 < sum(fixes.values()) < 150, fixes
    assert 0 < sum(edits.values()) - sum(fixes.values()) <= 800, (edits, fixes)
