# SPDX-License-Identifier: GPL-2.0
"""The directory of the user's that a run's results go to: whole, or as it was."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Self

from vswaplab.errors import UsageError


class ResultsDir:
    """A with block in which results are collected in ``collected``; keep() puts them into ``target``.

    ``target`` is made unless it exists and is empty; its parent has to exist. check() says what is wrong.
    """

    def __init__(self, target: Path) -> None:
        self._named = target
        self._target = target.resolve()
        self.collected = Path()

    def check(self) -> None:
        """Raise UsageError for a directory that results cannot be put into."""
        target = self._target
        if target.is_dir():
            try:
                empty = not any(target.iterdir())
            except OSError as error:
                raise UsageError(f"cannot read {self._named}: {error.strerror}") from error
            if not empty:
                raise UsageError(f"{self._named} is not empty: results go into a new or an empty directory")
        elif target.exists():
            raise UsageError(f"{self._named} is no directory")
        where = target if target.is_dir() else target.parent
        if not where.is_dir() or not os.access(where, os.W_OK | os.X_OK):
            raise UsageError(f"cannot write to {where}")
        self._made(where).rmdir()  # root may write to what takes no files, such as /proc

    @staticmethod
    def _made(where: Path) -> Path:
        """A directory to collect in. Raises UsageError."""
        try:
            return Path(tempfile.mkdtemp(prefix=".vswap-results-", dir=where))
        except OSError as error:
            raise UsageError(f"cannot write to {where}: {error.strerror}") from error

    def __enter__(self) -> Self:
        """Raises UsageError as check() does."""
        self.check()
        # On the same file system, so that they only have to be renamed.
        inside = self._target.is_dir()
        where = self._target if inside else self._target.parent
        self.collected = self._made(where)
        return self

    def keep(self) -> None:
        """Put what was collected in its place. Raises OSError."""
        if self._target.is_dir():
            for entry in list(self.collected.iterdir()):
                entry.rename(self._target / entry.name)
        else:
            self.collected.chmod(0o755)
            self.collected.rename(self._target)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.collected, ignore_errors=True)
