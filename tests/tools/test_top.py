# SPDX-License-Identifier: GPL-2.0
"""vswapctl top: the screen as text, and the program in a pseudo-terminal of 80 by 24."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran
from vswapctl import cgroups, frame, snapshot
from vswapctl.kernel import Kernel

TOOLS = Path(__file__).resolve().parents[2] / "tools"
ALTERNATE, MAIN = b"\033[?1049h", b"\033[?1049l"


class Terminal:
    """vswapctl top with a terminal of its own."""

    def __init__(self, root: Path, *words: str, rows: int = 24, columns: int = 80) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "PYTHONPATH": str(TOOLS), "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "vswapctl", "--root", str(root), "top", "--interval", "0.1", *words],
            stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def resize(self, rows: int, columns: int) -> None:
        """As a user who pulls at the window."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, wanted: bytes, seconds: float = 30.0) -> None:
        """Until something is on the screen."""
        end = time.monotonic() + seconds
        while wanted not in self.seen:
            assert time.monotonic() < end, self.seen[-3000:]
            if select.select([self.master], [], [], 0.2)[0]:
                self.seen += os.read(self.master, 65536)

    def end(self) -> int:
        """Its exit code."""
        end = time.monotonic() + 30
        while self.process.poll() is None:
            assert time.monotonic() < end
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0.1)[0]:
            self.seen += os.read(self.master, 65536)
        return self.process.returncode

    def restored(self) -> bool:
        """Whether the terminal is as it was: echo, lines, the main screen, a cursor."""
        shown = self.seen.rfind(b"\033[?25h") > self.seen.rfind(b"\033[?25l")
        return termios.tcgetattr(self.slave) == self.before and self.seen.rfind(MAIN) > 0 and shown

    def hang_up(self) -> None:
        """As when its window is closed: SIGHUP to the process whose terminal it is."""
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        """Nothing stays behind."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master >= 0:
            os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(ours: Path) -> Iterator[Terminal]:
    """On a machine with virtual swap."""
    pytest.importorskip("rich")
    made = Terminal(ours)
    yield made
    made.close()


@pytest.mark.parametrize("key", [b"q", b"Q", b"\x03", b"\x1aq"], ids=["q", "Q", "ctrl-c", "ctrl-z"])
def test_leaving(terminal: Terminal, key: bytes) -> None:
    terminal.read(b"q quits")
    assert ALTERNATE in terminal.seen and b"/user.slice/shell" in terminal.seen and b"mode auto" in terminal.seen
    os.write(terminal.master, b"x" + key)
    assert terminal.end() == 0
    assert terminal.restored() and b"Traceback" not in terminal.seen and b"interrupted" not in terminal.seen


def test_terminated(terminal: Terminal) -> None:
    terminal.read(b"q quits")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 143 and terminal.restored() and b"vswapctl: terminated" in terminal.seen


def test_the_terminal_goes_away(terminal: Terminal) -> None:
    """Nothing can be written to it or set there any longer: the code says what ended it."""
    terminal.read(b"q quits")
    terminal.hang_up()
    assert terminal.process.wait(30) == 129


def test_the_kernel_goes_away(terminal: Terminal, ours: Path) -> None:
    """An error while it runs is one line, on the main screen."""
    terminal.read(b"q quits")
    (ours / "proc/meminfo").unlink()
    assert terminal.end() == 3 and terminal.restored()
    assert b"vswapctl: cannot read" in terminal.seen[terminal.seen.rfind(MAIN) :]


def test_resized(terminal: Terminal) -> None:
    terminal.read(b"q quits")
    terminal.resize(6, 30)
    time.sleep(1)
    os.write(terminal.master, b"q")
    assert terminal.end() == 0 and terminal.restored()


def test_count(ours: Path) -> None:
    made = Terminal(ours, "--count", "3")
    try:
        assert made.end() == 0 and made.restored()
    finally:
        made.close()


def lines(root: Path, width: int = 80, height: int = 24) -> list[str]:
    kernel = Kernel(str(root))
    top = cgroups.mount_point(kernel)
    history = frame.History()
    for rate in (0, 10, 100, 50):
        history.add({"zswpout": rate})
    usages = cgroups.usages(kernel, top) if top else []
    return frame.lines(snapshot.take(kernel), history, usages, width, height)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 12), (20, 3), (1, 1), (300, 80)])
def test_it_fits(machine: Path, width: int, height: int) -> None:
    shown = lines(machine, width, height)
    assert len(shown) == height and max(map(len, shown)) <= width
    assert shown[-1] == "q quits"[:width]


def test_what_is_shown(ours: Path) -> None:
    """In 80 by 24 there is room for everything that counts."""
    text = "\n".join(lines(ours))
    for part in ("zero 100.0 MB, zswap 300.0 MB", "ratio 3.00; 5 % of 2.0 GB", "gained  297.4 MB", "▁█▅",
                 "/dev/vda2", "/user.slice ", "/user.slice/shell", "/system.slice"):  # fmt: skip
        assert part in text, text


def test_long_names(ours: Path) -> None:
    fakes.write(ours, fakes.group("/" + "n" * 200, 500, 10))
    assert max(map(len, lines(ours))) <= 80 and "…nnn" in "\n".join(lines(ours))


def test_sparkline() -> None:
    assert frame.sparkline([], 4) == "    " and frame.sparkline([0, 0], 4) == "    "
    assert frame.sparkline([1, 2, 4, 8], 6) == "  ▂▃▅█"
    assert frame.sparkline(range(100), 3) == "███" and frame.sparkline([1], 0) == ""
    assert frame.sparkline([1, 8], 2, frame.PLAIN) == ".#"


def test_no_terminal(ours: Path, ctl: Ran) -> None:
    code, out, err = ctl(ours, "top")
    assert (code, out) == (2, "") and "needs a terminal" in err


def test_no_rich(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rich", "rich.console", "rich.live", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, _, err = ctl(ours, "top")
    assert code == 3 and "python3-rich" in err
