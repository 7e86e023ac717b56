# SPDX-License-Identifier: GPL-2.0
"""Working trees: made, edited, exported, and nothing lost on the way."""

import os
import shutil
from pathlib import Path

import pytest

from tests.lab import fakes
from tests.lab.conftest import REAL_CACHE
from vswaplab import paths
from vswaplab.errors import TreeError, UsageError
from vswaplab.source import linux
from vswaplab.tree import footprint, overlay, worktree
from vswaplab.tree.gitrepo import Repo

REAL_KERNEL = paths.kernel_dir()


def snapshot(directory: Path) -> dict[str, tuple[bytes, bool]]:
    """Every file with its content and whether it is executable."""
    return {
        path.relative_to(directory).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
        for path in directory.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


@pytest.fixture
def made(base: Path, kernel: Path, tmp_path: Path) -> Path:
    """A working tree of the small base and the small kernel/."""
    worktree.make(base, "7.3.4", tmp_path / "tree", kernel)
    return tmp_path / "tree"


def test_tree_is_two_commits(made: Path, base: Path) -> None:
    repo = Repo(made)
    assert repo.lines("log", "--format=%s") == ["vswap: what kernel/ adds to the base", "Linux 7.3.4"]
    assert repo.lines("status", "--porcelain") == []
    changed = repo.lines("diff", "--name-only", "HEAD~", "HEAD")
    assert changed == ["mm/swap.c", "mm/vswap/space.c"]
    committed = set(repo.lines("ls-tree", "-r", "--name-only", "HEAD~"))
    assert committed == set(snapshot(base))
    lines = (made / "mm/swap.c").read_text().splitlines()
    assert (lines[10], lines[39], len(lines)) == ("hook one", "hook two", 41)


def test_the_same_base_is_the_same_commit(made: Path, base: Path, kernel: Path, tmp_path: Path) -> None:
    worktree.make(base, "7.3.4", tmp_path / "other", kernel)
    assert Repo(made).lines("rev-parse", "HEAD") == Repo(tmp_path / "other").lines("rev-parse", "HEAD")


def test_mainline_tree_is_the_base(base: Path, tmp_path: Path) -> None:
    worktree.make(base, "7.3.4", tmp_path / "tree", None)
    assert snapshot(tmp_path / "tree") == snapshot(base)


def test_export_of_an_unedited_tree_changes_nothing(made: Path, kernel: Path) -> None:
    before = snapshot(kernel)
    assert worktree.export_tree(made, kernel) == []
    assert snapshot(kernel) == before


def test_export_is_stable(made: Path, kernel: Path) -> None:
    """What export writes, export writes again, byte for byte."""
    shutil.rmtree(kernel)
    kernel.mkdir()
    worktree.export_tree(made, kernel, force=True)
    first = snapshot(kernel)
    shutil.rmtree(kernel)
    worktree.export_tree(made, kernel, force=True)
    assert snapshot(kernel) == first
    text = (kernel / "mm/swap.c.patch").read_text()
    assert text.startswith("--- a/mm/swap.c\n+++ b/mm/swap.c\n@@ -8,6 +8,7 @@ line 7\n")
    assert "index " not in text


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


@pytest.mark.parametrize("commit", [False, True])
def test_round_trip_loses_nothing(made: Path, base: Path, kernel: Path, tmp_path: Path, commit: bool) -> None:
    edit(made)
    if commit:
        repo = Repo(made)
        repo.git("add", "-A")
        repo.commit("more\n")
    touched = worktree.export_tree(made, kernel)
    assert touched == [
        "mm/gone.c.patch", "mm/other.c.patch", "mm/swap.c.patch", "mm/vswap/backing.h", "mm/vswap/empty",
        "tools/run.sh", "mm/vswap/space.c",
    ]  # fmt: skip
    worktree.make(base, "7.3.4", tmp_path / "again", kernel)
    assert snapshot(tmp_path / "again") == snapshot(made)
    assert worktree.export_tree(made, kernel) == []
    assert Repo(made).lines("stash", "list") == []


def test_build_output_is_not_exported(made: Path, kernel: Path) -> None:
    (made / "mm/swap.o").write_text("object")
    (made / ".config").write_text("CONFIG_X=y")
    assert worktree.export_tree(made, kernel) == []


def test_ignored_names_of_ours_survive(made: Path, base: Path, kernel: Path) -> None:
    """The kernel ignores names like .kunitconfig; a file of kernel/ is ours all the same."""
    (kernel / "mm/vswap/.kunitconfig").write_text("CONFIG_KUNIT=y\n")
    assert worktree.refresh(base, made, kernel)
    assert worktree.export_tree(made, kernel) == []


def test_reverted_edit_removes_the_patch(made: Path, base: Path, kernel: Path) -> None:
    shutil.copy(base / "mm/swap.c", made / "mm/swap.c")
    (made / "mm/vswap/space.c").unlink()
    (kernel / "SERIES").write_text("cover: stays\n")
    assert worktree.export_tree(made, kernel, force=True) == ["mm/swap.c.patch", "mm/vswap/space.c"]
    assert sorted(p.name for p in kernel.rglob("*")) == ["SERIES"]


def test_export_refuses_to_undo_newer_edits(made: Path, kernel: Path) -> None:
    (kernel / "mm/vswap/newer.c").write_text("int newer;\n")
    with pytest.raises(TreeError, match="has changed since"):
        worktree.export_tree(made, kernel)
    assert (kernel / "mm/vswap/newer.c").exists()
    assert worktree.export_tree(made, kernel, force=True) == ["mm/vswap/newer.c"]


def test_export_from_a_foreign_tree(base: Path, kernel: Path) -> None:
    """Any repository whose first commit is the pristine base will do."""
    repo = Repo(base)
    repo.init()
    repo.git("add", "-A", "-f")
    repo.commit("pristine\n")
    (base / "mm/new.c").write_text("new\n")
    assert worktree.export_tree(base, kernel) == ["mm/new.c", "mm/swap.c.patch", "mm/vswap/space.c"]


def test_export_of_something_else(tmp_path: Path, kernel: Path) -> None:
    with pytest.raises(UsageError, match="is not a kernel tree"):
        worktree.export_tree(tmp_path, kernel)


@pytest.mark.parametrize("name", ["SERIES", "mm/vswap/x.patch"])
def test_export_of_a_name_with_a_meaning(made: Path, kernel: Path, name: str) -> None:
    (made / name).write_text("x\n")
    with pytest.raises(TreeError, match="meaning of its own"):
        worktree.export_tree(made, kernel)


def test_export_of_a_symbolic_link(made: Path, kernel: Path) -> None:
    (made / "mm/link.c").symlink_to("swap.c")
    with pytest.raises(TreeError, match="symbolic link"):
        worktree.export_tree(made, kernel)


def test_failing_hunk_is_named(base: Path, kernel: Path, tmp_path: Path) -> None:
    swap = base / "mm/swap.c"
    swap.write_text(swap.read_text().replace("line 38\n", "rewritten\n"))
    with pytest.raises(TreeError, match=r"kernel/mm/swap.c.patch does not apply.*hunk 2 \(@@ -36.*mm/swap.c"):
        worktree.make(base, "7.3.5", tmp_path / "tree", kernel)
    assert not (tmp_path / "tree").exists()
    assert not list(tmp_path.glob(".tree*"))


def test_point_release_that_moves_lines(base: Path, kernel: Path, tmp_path: Path) -> None:
    """The edits apply at other line numbers, and an export leaves kernel/ as it is."""
    swap = base / "mm/swap.c"
    swap.write_text("new at the top\n" * 7 + swap.read_text())
    before = snapshot(kernel)
    worktree.make(base, "7.3.5", tmp_path / "tree", kernel)
    assert worktree.export_tree(tmp_path / "tree", kernel) == []
    assert snapshot(kernel) == before


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
def test_bad_kernel_directory(base: Path, kernel: Path, name: str, text: str, message: str) -> None:
    fakes.write_tree(kernel, {name: text})
    with pytest.raises(TreeError, match=message):
        overlay.render(kernel, base)


def test_refresh(made: Path, base: Path, kernel: Path) -> None:
    assert not worktree.refresh(base, made, kernel)
    (kernel / "mm/vswap/space.c").write_text("int changed;\n")
    (kernel / "mm/swap.c.patch").unlink()
    assert worktree.refresh(base, made, kernel)
    assert (made / "mm/vswap/space.c").read_text() == "int changed;\n"
    assert (made / "mm/swap.c").read_text() == fakes.SWAP_C
    assert len(Repo(made).lines("rev-list", "HEAD")) == 2


def test_refresh_keeps_edits(made: Path, base: Path, kernel: Path) -> None:
    (kernel / "mm/vswap/space.c").write_text("int changed;\n")
    (made / "mm/other.c").write_text("precious\n")
    with pytest.raises(TreeError, match="has edits"):
        worktree.refresh(base, made, kernel)
    assert (made / "mm/other.c").read_text() == "precious\n"


def test_target_in_the_way(base: Path, kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    with pytest.raises(UsageError, match="not empty"):
        worktree.make(base, "7.3.4", tmp_path / "full", kernel)
    (tmp_path / "empty").mkdir()
    worktree.make(base, "7.3.4", tmp_path / "empty", kernel)


def test_footprint(kernel: Path) -> None:
    (kernel / "SERIES").write_text("cover: not counted\n" * 50)
    (kernel / "mm/other.c.patch").write_text(
        "--- a/mm/other.c\n+++ b/mm/other.c\n@@ -1 +1,2 @@\n--- starts with dashes\n+++ and pluses\n+one\n"
    )
    assert footprint.footprint(kernel) == footprint.Footprint(2, 3 + 3, 1, 3)


def real_source() -> linux.Source | None:
    return linux.cached(REAL_CACHE / "source")


@pytest.mark.skipif(real_source() is None or not REAL_KERNEL.is_dir(), reason="no kernel source in the cache")
def test_round_trip_of_the_real_edits(tmp_path: Path) -> None:
    """kernel/ applied to the real base's files and exported again is the same kernel/."""
    found = real_source()
    assert found
    unpacked = linux.pristine(found)
    base = tmp_path / "real-base"
    for name, _ in overlay.files(REAL_KERNEL):
        if name.endswith(overlay.PATCH):
            target = base / name.removesuffix(overlay.PATCH)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(unpacked / name.removesuffix(overlay.PATCH), target)
    for name in (".gitignore", ".gitattributes"):
        shutil.copy2(unpacked / name, base / name)
    copy = shutil.copytree(REAL_KERNEL, tmp_path / "kernel", ignore=shutil.ignore_patterns("SERIES"))
    before = snapshot(copy)
    worktree.make(base, found.version, tmp_path / "tree", copy)
    assert worktree.export_tree(tmp_path / "tree", copy) == []
    shutil.rmtree(copy)
    worktree.export_tree(tmp_path / "tree", copy, force=True)
    assert set(snapshot(copy)) == set(before)
    assert snapshot(copy) == before, "kernel/ is not in the form that export writes"


@pytest.mark.long
@pytest.mark.skipif(real_source() is None or not REAL_KERNEL.is_dir(), reason="no kernel source in the cache")
def test_round_trip_of_the_whole_real_tree(tmp_path: Path) -> None:
    """The same with all of the base, so that its .gitignore files have their say."""
    found = real_source()
    assert found
    copy = shutil.copytree(REAL_KERNEL, tmp_path / "kernel", ignore=shutil.ignore_patterns("SERIES"))
    worktree.make(linux.pristine(found), found.version, tmp_path / "tree", copy)
    before = snapshot(copy)
    shutil.rmtree(copy)
    worktree.export_tree(tmp_path / "tree", copy, force=True)
    assert snapshot(copy) == before


def test_edits_of_the_base_stay_few() -> None:
    """The budget: 800 changed lines for everything but User-Mode Linux's own fixes."""
    lines = footprint.per_file(Path(__file__).parents[2] / "kernel")
    edits = footprint.by_purpose(lines)
    assert edits.pop("User-Mode Linux") > 0
    assert 0 < sum(edits.values()) <= 800, edits
