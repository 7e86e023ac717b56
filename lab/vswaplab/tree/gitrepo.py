# SPDX-License-Identifier: GPL-2.0
"""git, with fixed settings: the user's configuration changes nothing the lab does."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vswaplab.proc import SYSTEM, Result, Runner
from vswaplab.tree import gitapply

# The same source gives the same commits everywhere.
IDENTITY = {
    "GIT_AUTHOR_NAME": "vswap",
    "GIT_AUTHOR_EMAIL": "vswap@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "vswap",
    "GIT_COMMITTER_EMAIL": "vswap@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}
_SETTINGS = ("core.autocrlf=false", "gc.auto=0", "commit.gpgSign=false", "core.quotePath=false")


class Repo:
    """A git repository in a directory."""

    def __init__(self, path: Path, runner: Runner = SYSTEM) -> None:
        self.path = path
        self._runner = runner

    def git(
        self, *words: str, env: Mapping[str, str] | None = None, stdin: str | None = None, check: bool = True
    ) -> Result:
        """Run one git command in it. Raises ToolError when it fails and ``check`` is set."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        limits = {**gitapply.environment(self.path), **IDENTITY}
        return self._runner.run(
            ["git", *settings, *words], cwd=self.path, env={**limits, **(env or {})}, stdin=stdin, check=check
        )

    def lines(self, *words: str, env: Mapping[str, str] | None = None) -> list[str]:
        """What a git command prints, by lines."""
        return self.git(*words, env=env).stdout.splitlines()

    def init(self) -> None:
        """Make the repository."""
        self.git("init", "-q", "-b", "vswap")

    def exists(self) -> bool:
        """Is the directory the top of a repository with at least one commit?"""
        if not (self.path / ".git").exists():
            return False
        return self.git("rev-parse", "--verify", "-q", "HEAD", check=False).returncode == 0

    def git_dir(self) -> Path:
        """Where git keeps its own files (not always .git: the tree may be a linked worktree)."""
        return Path(self.git("rev-parse", "--absolute-git-dir").stdout.strip())

    def add(self, names: Sequence[str]) -> None:
        """Put files (or their removal) into the index, ignored ones as well."""
        if names:
            text = "\0".join(names)
            self.git("add", "-f", "-A", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=text)

    def commit(self, message: str, env: Mapping[str, str] | None = None) -> None:
        """Commit the index, even if nothing changed."""
        self.git("commit", "-q", "--allow-empty", "--no-verify", "-F", "-", env=env, stdin=message)

    def root(self) -> str:
        """The first commit: the pristine base."""
        return self.lines("rev-list", "--max-parents=0", "HEAD")[-1]
