# SPDX-License-Identifier: GPL-2.0
"""Kernel trees to work in: a git repository of the pristine base and, on top of it, ours.

Its first commit is the base, its second what kernel/ adds. Edits go back into kernel/ with
export_tree(), which compares the files in the tree with the first commit, so that commits
made on top and edits that are not committed count alike.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import TreeError, UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.tree import overlay
from vswaplab.tree.gitrepo import Repo
from vswaplab.tree.overlay import META, PATCH, Content, Overlay

_MARK = "vswap-kernel"  # in .git: the checksum of the kernel/ this tree is about


def write_overlay(directory: Path, changes: Overlay) -> None:
    """Put an overlay's files into a tree."""
    for name, content in changes.items():
        target = directory / name
        if content is None:
            target.unlink(missing_ok=True)
        else:
            paths.write_file(target, content.data, content.mode)


def _mark(repo: Repo, kernel: Path | None) -> None:
    identity = overlay.content_hash(kernel) if kernel else "none"
    paths.write_file(repo.git_dir() / _MARK, identity.encode())


def _commit_ours(repo: Repo, changes: Overlay, kernel: Path | None) -> None:
    write_overlay(repo.path, changes)
    repo.add(sorted(changes))
    repo.commit("vswap: what kernel/ adds to the base\n")
    _mark(repo, kernel)


def make(
    base: Path,
    version: str,
    target: Path,
    kernel: Path | None,
    *,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> None:
    """Make a working tree at ``target``; without ``kernel`` only the base's commit.

    Either the whole tree comes into being or nothing. Raises UsageError when ``target`` is in
    the way, TreeError when a patch does not apply.
    """
    progress = progress or Silent()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not empty")
    changes = overlay.render(kernel, base, runner) if kernel else {}
    with paths.atomic_dir(target) as temporary:
        progress.update(f"copying Linux {version}")
        shutil.copytree(base, temporary, symlinks=True, dirs_exist_ok=True)
        progress.update("committing the base (half a minute)")
        repo = Repo(temporary, runner)
        repo.init()
        repo.git("add", "-f", "-A")
        repo.commit(f"Linux {version}\n")
        if kernel:
            progress.update("committing ours")
            _commit_ours(repo, changes, kernel)
        else:
            _mark(repo, None)
        if target.is_dir():
            target.rmdir()


def _changed(repo: Repo) -> list[tuple[str, str]]:
    """(letter, path) of every file that differs from the base; the real index is not touched."""
    found = []
    with _scratch_index(repo) as environment:
        repo.git("add", "-A", env=environment)
        argv = ("diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", repo.root())
        words = repo.git(*argv, env=environment).stdout.split("\0")
    for header, name in zip(words[0::2], words[1::2], strict=False):
        modes, letter = header.split()[:2], header.split()[-1]
        if "120000" in (modes[0].lstrip(":"), modes[1]):
            raise TreeError(f"{name} is a symbolic link; kernel/ holds plain files only")
        found.append((letter, name))
    return found


@contextmanager
def _scratch_index(repo: Repo) -> Iterator[dict[str, str]]:
    """The environment that makes git use a copy of the index."""
    directory = repo.git_dir()
    scratch = directory / f"vswap-index.{os.getpid()}"
    try:
        shutil.copyfile(directory / "index", scratch)
        yield {"GIT_INDEX_FILE": str(scratch)}
    finally:
        scratch.unlink(missing_ok=True)
        Path(f"{scratch}.lock").unlink(missing_ok=True)


def _diff(repo: Repo, name: str) -> bytes:
    """The edit of one base file, with three lines of context and nothing that varies."""
    with paths.scratch_dir() as scratch:
        output = scratch / "diff"  # a file, because a pipe would not keep every byte
        repo.git(
            "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index", "-U3",
            "--diff-algorithm=histogram", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/",
            f"--output={output}", repo.root(), "--", name,
        )  # fmt: skip
        data = output.read_bytes()
    if b"\nBinary files " in data:
        raise TreeError(f"{name} is binary; kernel/ holds text patches only")
    return clean_diff(data)


def clean_diff(data: bytes) -> bytes:
    """A diff of one file without the lines that name blobs.

    "diff --git" stays where git needs it: with a change of mode or the removal of a file.
    """
    head, separator, hunks = data.partition(b"\n@@ ")
    lines = head.splitlines()
    special = any(line.startswith((b"old mode ", b"deleted file ")) for line in lines)
    dropped = (b"index ",) if special else (b"index ", b"diff --git ")
    kept = [line for line in lines if not line.startswith(dropped)]
    return b"\n".join(kept) + (separator + hunks if separator else b"\n")


def exported(repo: Repo) -> dict[str, Content]:
    """What kernel/ has to hold for this tree: path below kernel/ -> content."""
    result = {}
    for letter, name in _changed(repo):
        if name in META or name.endswith(PATCH):
            raise TreeError(f"{name} has a name with a meaning of its own in kernel/; rename it")
        if letter == "A":
            result[name] = overlay.read_content(repo.path / name)
        else:
            result[name + PATCH] = Content(_diff(repo, name))
    return result


def _same_effect(patch: Path, name: str, tree: Repo, runner: Runner) -> bool:
    """Does the patch that kernel/ already has give what the tree has, and is it in our form?"""
    text = patch.read_text(errors="replace")
    if not text.startswith(f"--- a/{name}\n") or "\nindex " in text:
        return False
    with paths.scratch_dir() as base:
        environment = {"GIT_INDEX_FILE": str(base / ".index")}
        tree.git(f"--work-tree={base}", "checkout", "-q", tree.root(), "--", name, env=environment)
        try:
            made = overlay.apply_patch(patch.resolve(), name, base, runner)
        except TreeError:
            return False
    current = tree.path / name
    wanted = current.read_bytes() if current.exists() else None
    return made is not None and made.data == wanted


def _guard(repo: Repo, kernel: Path, force: bool) -> None:
    """Refuse to overwrite changes that kernel/ got after the tree was made."""
    mark = repo.git_dir() / _MARK
    if force or not mark.is_file() or not kernel.is_dir():
        return
    if mark.read_text() != overlay.content_hash(kernel):
        raise TreeError(
            f"kernel/ has changed since {repo.path} was made from it or exported; "
            "look at the difference, then use --force to overwrite kernel/"
        )


def export_tree(tree: Path, kernel: Path, *, force: bool = False, runner: Runner = SYSTEM) -> list[str]:
    """Write the edits made in ``tree`` back into ``kernel``; returns the names that changed.

    A file of kernel/ that already says the same is not touched; what the tree no longer has is
    removed. Raises UsageError when ``tree`` is no such tree, TreeError when kernel/ has newer
    edits or the tree holds something kernel/ cannot.
    """
    repo = Repo(tree, runner)
    if not repo.exists():
        raise UsageError(f"{tree} is not a kernel tree made by 'vswap tree'")
    _guard(repo, kernel, force)
    wanted = exported(repo)
    touched = []
    present = dict(overlay.files(kernel)) if kernel.is_dir() else {}
    for name, content in sorted(wanted.items()):
        path = kernel / name
        if name in present and overlay.read_content(path) == content:
            continue
        if name in present and name.endswith(PATCH):
            if _same_effect(path, name.removesuffix(PATCH), repo, runner):
                continue
        paths.write_file(path, content.data, content.mode)
        touched.append(name)
    for name in sorted(set(present) - set(wanted)):
        (kernel / name).unlink()
        touched.append(name)
        _remove_empty(kernel, (kernel / name).parent)
    _mark(repo, kernel)
    return touched


def _remove_empty(top: Path, directory: Path) -> None:
    """Remove directories that became empty, ``top`` itself never."""
    while directory != top and not any(directory.iterdir()):
        directory.rmdir()
        directory = directory.parent


def has_edits(repo: Repo) -> bool:
    """Is there anything in the tree that the second commit does not have?"""
    if len(repo.lines("rev-list", "HEAD")) > 2:
        return True
    return bool(repo.lines("status", "--porcelain", "--untracked-files=normal"))


def refresh(base: Path, target: Path, kernel: Path, *, runner: Runner = SYSTEM) -> bool:
    """Bring an unedited tree up to date with kernel/; returns whether anything was to be done.

    Raises TreeError when it holds edits, UsageError when it is no tree of ours.
    """
    repo = Repo(target, runner)
    if not repo.exists() or not (mark := repo.git_dir() / _MARK).is_file():
        raise UsageError(f"{target} exists and was not made by 'vswap tree'")
    if mark.read_text() == overlay.content_hash(kernel):
        return False
    if has_edits(repo):
        raise TreeError(f"{target} has edits; export them ('vswap tree --export') or remove the tree")
    changes = overlay.render(kernel, base, runner)
    repo.git("reset", "-q", "--hard", repo.root())
    _commit_ours(repo, changes, kernel)
    return True
