# SPDX-License-Identifier: GPL-2.0
"""Kernel trees to work in: a git repository of the pristine base and, on top of it, the series.

Its first commit is the base, then comes one for each patch. Commits made, changed and reordered
there go back into patches/ and kernel/ with export_tree().
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import TreeError, UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.series import export, gitline, stored
from vswaplab.series.stored import Store
from vswaplab.tree.gitrepo import Repo

BASE_TAG = "base"  # for git rebase -i --autosquash base
_MARK = "vswap-kernel"  # in .git: the state of patches/ and kernel/, and the commit that is equal to it
_ONLY_SUBJECT = "vswap: what kernel/ adds to the base"
_UNDER_WAY = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD")


def _mark(repo: Repo, store: Store | None) -> None:
    identity = stored.content_hash(store) if store else "none"
    text = json.dumps({"identity": identity, "commit": repo.lines("rev-parse", "HEAD")[0]})
    paths.write_file(repo.git_dir() / _MARK, text.encode())


def _marked(repo: Repo) -> tuple[str, str] | None:
    """The checksum and the commit that were noted; None in a tree that was not made here."""
    path = repo.git_dir() / _MARK
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text())
        return str(found["identity"]), str(found["commit"])
    except (ValueError, TypeError, KeyError):
        return "", _only_commit(repo)


def _only_commit(repo: Repo) -> str:
    """HEAD of a tree from before there were patches/, if it is the one commit that such a tree had; or ""."""
    commits = repo.lines("log", "--format=%H %s")
    commit, _, subject = commits[0].partition(" ")
    return commit if len(commits) == 2 and subject == _ONLY_SUBJECT else ""


def _commit_series(repo: Repo, series: stored.Line, store: Store) -> None:
    gitline.commit(repo, series.steps, repo.root())
    repo.git("checkout", "-q", "-f", gitline.BRANCH)
    repo.git("reset", "-q", "--hard", gitline.BRANCH)
    repo.git("tag", "-f", BASE_TAG, repo.root())
    _mark(repo, store)


def make(
    base: Path,
    version: str,
    target: Path,
    store: Store | None,
    *,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> None:
    """Make a working tree at ``target``; without ``store`` only the base's commit.

    Either the whole tree comes into being or nothing. Raises UsageError when ``target`` is in
    the way, TreeError when a patch does not apply.
    """
    progress = progress or Silent()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists and is not empty")
    series = stored.line(store, base, runner=runner) if store else None
    with paths.atomic_dir(target) as temporary:
        progress.update(f"copying Linux {version}")
        shutil.copytree(base, temporary, symlinks=True, dirs_exist_ok=True)
        progress.update("committing the base (half a minute)")
        repo = Repo(temporary, runner)
        repo.init()
        repo.git("add", "-f", "-A")
        repo.commit(f"Linux {version}\n")
        if store and series:
            progress.update("committing the series")
            _commit_series(repo, series, store)
        else:
            _mark(repo, None)
        if target.is_dir():
            target.rmdir()


def _unsaved(repo: Repo) -> list[str]:
    """The files with changes that are not committed; what git ignores does not count."""
    found = repo.git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal").stdout
    return [entry[3:] for entry in found.split("\0") if entry]


def _is_under_way(repo: Repo) -> bool:
    """Is a rebase or the like not finished?"""
    return any((repo.git_dir() / name).exists() for name in _UNDER_WAY)


def _check_committed(repo: Repo) -> None:
    """Raises TreeError unless HEAD is all there is."""
    if _is_under_way(repo):
        raise TreeError(f"{repo.path} is in the middle of a rebase, merge or cherry-pick; finish that first")
    if names := _unsaved(repo):
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        raise TreeError(
            f"{repo.path} has changes that are not committed ({names[0]}{more}): commit them there, "
            f"with git commit --fixup=COMMIT and git rebase -i --autosquash {BASE_TAG}, or as a patch of their own"
        )


def _check_base(repo: Repo) -> None:
    """Raises TreeError unless the first commit can be the base."""
    if repo.lines("rev-parse", "--is-shallow-repository") != ["false"]:
        raise TreeError(f"{repo.path} is a shallow clone: where its history begins is not the base")
    tag = repo.git("rev-parse", "-q", "--verify", f"refs/tags/{BASE_TAG}^{{commit}}", check=False).stdout.strip()
    if tag and tag != repo.root():
        raise TreeError(f"the first commit of {repo.path} is not the one with the tag {BASE_TAG}: it was changed")


def _edited(store: Store) -> set[str]:
    """The names in patches/ and kernel/ whose changes are in no commit of the project."""
    project = Repo(store.patches.parent)
    if not project.path.is_dir():
        return set()
    words = ("--porcelain", "-z", "--no-renames", "-uall", "--", store.patches.name, store.kernel.name)
    found = project.git("status", *words, check=False)
    return {entry[3:] for entry in found.stdout.split("\0") if entry} if found.returncode == 0 else set()


def _guard_edits(store: Store, differing: Iterable[str]) -> None:
    """Refuse to overwrite what nothing could bring back."""
    if lost := sorted(_edited(store) & set(differing)):
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise TreeError(f"{lost[0]}{more} would be overwritten, with changes that are not committed: commit them")


def _guard(repo: Repo, store: Store) -> None:
    """Refuse to overwrite changes that patches/ and kernel/ got after the tree was made."""
    mark = _marked(repo)
    if mark and store.kernel.is_dir() and mark[0] != stored.content_hash(store):
        raise TreeError(
            f"patches/ or kernel/ has changed since {repo.path} was made from it or exported; "
            "look at the difference, then use --force to overwrite both"
        )


def export_tree(tree: Path, store: Store, *, force: bool = False, runner: Runner = SYSTEM) -> list[str]:
    """Write the commits of ``tree`` into patches/ and kernel/; returns the names that changed.

    Any repository will do whose first commit is the base. Raises UsageError when ``tree`` is none,
    TreeError when something is not committed, when the commits are no series, and when patches/
    or kernel/ has newer edits that would be lost.
    """
    repo = Repo(tree, runner)
    if not repo.exists():
        raise UsageError(f"{tree} is not a kernel tree made by 'vswap tree'")
    _check_committed(repo)
    _check_base(repo)
    line = gitline.read(repo)
    if not line.steps:
        raise TreeError(f"{tree} has no commits on top of its first one")
    wanted = export.exported(line, store, runner)
    if differing := export.differing(wanted, store):
        _guard_edits(store, differing)
        if not force:
            _guard(repo, store)
    touched = export.write(wanted, store)
    _mark(repo, store)
    return touched


def has_edits(repo: Repo) -> bool:
    """Is there anything in the tree that patches/ and kernel/ did not have when it was made or exported?"""
    mark = _marked(repo)
    branch = repo.git("rev-parse", "-q", "--verify", f"refs/heads/{gitline.BRANCH}", check=False).stdout.strip()
    heads = {repo.lines("rev-parse", "HEAD")[0], branch} - {""}
    return not mark or heads != {mark[1]} or _is_under_way(repo) or bool(_unsaved(repo))


def refresh(base: Path, version: str, target: Path, store: Store, *, runner: Runner = SYSTEM) -> bool:
    """Bring an unedited tree up to date with patches/ and kernel/; returns whether anything was to be done.

    Raises TreeError when it holds edits or another base, UsageError when it is no tree of ours.
    """
    repo = Repo(target, runner)
    if not repo.exists() or not (mark := _marked(repo)):
        raise UsageError(f"{target} exists and was not made by 'vswap tree'")
    subject = repo.lines("log", "-1", "--format=%s", repo.root())[0]
    if subject != f"Linux {version}":
        raise TreeError(f"{target} is {subject}, the base is Linux {version} now; remove the tree")
    if mark[0] == stored.content_hash(store):
        return False
    if has_edits(repo):
        raise TreeError(f"{target} has edits; export them ('vswap tree --export') or remove the tree")
    _commit_series(repo, stored.line(store, base, runner=runner), store)
    return True
