# SPDX-License-Identifier: GPL-2.0
"""vswapctl top"""

import argparse
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from vswapctl import cgroups, frame, rates, snapshot
from vswapctl.errors import OK, CannotRead, UsageError
from vswapctl.kernel import Kernel

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

LOOK = 0.25  # seconds after which a new size of the terminal is noticed


@contextmanager
def keys_at_once() -> Iterator[None]:
    """Get keys without Enter and without an echo; the terminal is as before at the end.

    Ctrl-Z does nothing: a stopped process would leave the terminal to the shell as it is here.
    """
    before = termios.tcgetattr(sys.stdin)
    stop = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        with suppress(termios.error):  # it has hung up; and that is no OSError
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTSTP, stop)


@contextmanager
def on_screen(live: "Live") -> Iterator[None]:
    """Show it, and leave the screen at the end. What ended it counts more than that this fails.

    Unlike "with live", a signal in the start does not leave the terminal as it is then.
    """
    try:
        live.start()
        yield
    except BaseException:
        with suppress(OSError):
            live.stop()
        raise
    live.stop()


def pressed_q(seconds: float) -> bool:
    """Wait for a key; whether it was q, or the terminal has gone."""
    if not select.select([sys.stdin], [], [], max(0.0, seconds))[0]:
        return False
    keys = os.read(sys.stdin.fileno(), 64)
    return not keys or b"q" in keys.lower()


class Screen:
    """What is shown, and how."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.top = cgroups.mount_point(kernel)
        self.history = frame.History()
        self.before: tuple[dict[str, int], float] | None = None
        utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        self.marks = frame.BLOCKS if utf8 else frame.PLAIN
        self.measure()

    def measure(self) -> None:
        """Read everything once more."""
        self.snap = snapshot.take(self.kernel)
        now = time.monotonic()
        if self.before:
            self.history.add(rates.between(self.before[0], self.snap.vmstat, now - self.before[1]))
        self.before = self.snap.vmstat, now
        self.usages = cgroups.usages(self.kernel, self.top) if self.top else []

    def text(self, width: int, height: int) -> str:
        """The whole screen."""
        return "\n".join(frame.lines(self.snap, self.history, self.usages, width, height, self.marks))


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Show it until q, Ctrl-C, or the last of the updates that were asked for."""
    try:
        return watch(args, kernel)
    except KeyboardInterrupt as error:
        if type(error) is KeyboardInterrupt:  # Ctrl-C is a way to leave; SIGTERM is reported
            return OK
        raise


def watch(args: argparse.Namespace, kernel: Kernel) -> int:
    """The same, with Ctrl-C as an exception."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("top needs a terminal; 'vswapctl status --interval 1' does not")
    try:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text
    except ImportError:
        raise CannotRead(
            "top needs the Python package rich: apt install python3-rich, or pip install rich"
        ) from None

    console = Console()
    if console.is_dumb_terminal:
        raise UsageError("top needs a terminal that can move its cursor, and TERM says that this one cannot")
    screen = Screen(kernel)

    def shown() -> Text:
        return Text(screen.text(*console.size), no_wrap=True, overflow="crop")

    live = Live(shown(), console=console, screen=True, auto_refresh=False)
    with keys_at_once(), on_screen(live):
        follow(args, screen, console, lambda: live.update(shown(), refresh=True))
    return OK


def follow(args: argparse.Namespace, screen: Screen, console: "Console", show: Callable[[], None]) -> None:
    """Show it again and again, until q or the last update."""
    updates = 0
    while True:
        show()
        updates += 1
        if args.count and updates >= args.count:
            return
        end, size = time.monotonic() + args.interval, console.size
        while time.monotonic() < end:
            if pressed_q(min(LOOK, end - time.monotonic())):
                return
            if console.size != size:
                size = console.size
                show()
        screen.measure()
