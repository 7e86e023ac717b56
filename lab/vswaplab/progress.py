# SPDX-License-Identifier: GPL-2.0
"""How long-running library code tells a user where it is, without knowing about terminals."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from vswaplab.units import format_seconds


class Progress(Protocol):
    """Told of every step; ``total`` 0 means that the amount of work is not known."""

    def update(self, stage: str, done: int = 0, total: int = 0) -> None:
        """``stage`` is at ``done`` of ``total``."""
        ...


class Silent:
    """Says nothing."""

    def update(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Ignore the step."""


class _Bar:
    """One line on a terminal that follows the current stage."""

    def __init__(self, bar: RichProgress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)

    def update(self, stage: str, done: int = 0, total: int = 0) -> None:
        self._bar.update(self._task, description=stage, completed=done, total=total or None)


class _Lines:
    """A line per stage, for logs; and one a minute in a long stage, so that a log shows life."""

    def __init__(self) -> None:
        self._stage = ""
        self._start = self._said = time.monotonic()

    def update(self, stage: str, done: int = 0, total: int = 0) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._start, self._said = stage, now, now
            sys.stderr.write(f"vswap: {stage}\n")
        elif now - self._said >= 60:
            self._said = now
            part = f" {done} of {total}" if total else ""
            sys.stderr.write(f"vswap: {stage}:{part} after {format_seconds(now - self._start)}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def shown() -> Iterator[Progress]:
    """A Progress on stderr: a moving bar on a terminal, plain lines elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar)
