# SPDX-License-Identifier: GPL-2.0
"""One line that follows a guest while it runs, and lets its output through."""

import sys
import time
from types import TracebackType
from typing import BinaryIO, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from vswaplab.guest import Sample
from vswaplab.units import format_size

EVERY = 5.0  # seconds between two lines where there is no terminal


def describe(title: str, sample: Sample) -> str:
    """The line for one sample."""
    counters = sample.counters
    ratio = f"{sample.ratio:.2f}:1" if sample.ratio else "-"
    return (
        f"{title}  {sample.t:5.1f} s  RAM free {format_size(sample.meminfo['MemFree']):>8}"
        f"  slots: {counters.zero:,} zero, {counters.zswap:,} zswap, {counters.physical:,} physical"
        f"  compression {ratio}"
    )


class LiveLine:
    """On a terminal a line that changes, on stderr; elsewhere a plain line now and then."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(stderr=True)
        self._live: Live | None = None
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()

    def _erase(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def sample(self, sample: Sample) -> None:
        """Show the state of the guest."""
        text = Text(describe(self._title, sample), no_wrap=True, overflow="ellipsis")
        if not self._console.is_terminal:
            if time.monotonic() - self._said >= EVERY:
                self._said = time.monotonic()
                self._console.print(text, soft_wrap=True)
            return
        if self._live is None:
            self._live = Live(
                text, console=self._console, auto_refresh=False, transient=True,
                redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            self._live.start()
        self._live.update(text, refresh=True)

    def output(self, stream: str, data: bytes) -> None:
        """Pass on what the workload printed, without the line getting in between."""
        self._erase()
        target: BinaryIO = sys.stdout.buffer if stream == "out" else sys.stderr.buffer
        target.write(data)
        target.flush()
