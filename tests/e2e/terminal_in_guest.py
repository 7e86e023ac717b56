# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: a program in a pseudo-terminal of 80 by 24 is watched, and then told to end.

Arguments: how it is told (a key: "q" or "ctrl-c"; or a signal: "SIGINT"), what has to be on the terminal
first (a regular expression) and how often it has to match, then the command. Prints JSON: all that came to
the terminal, the exit code, and whether the terminal's settings are as before.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

ROWS, COLUMNS = 24, 80
LIMIT = 120.0  # seconds for each of both parts
KEYS = {"q": b"q", "ctrl-c": b"\x03"}


class Watched:
    """A program and its terminal."""

    def __init__(self, command: list[str]) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def look(self) -> bool:
        """Take what has come, after a tenth of a second at most; False if it was nothing."""
        if not select.select([self.master], [], [], 0.1)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def wait_for(self, pattern: str, count: int) -> bool:
        """Until the pattern has come so often; False if the program ended before."""
        end = time.monotonic() + LIMIT
        while len(re.findall(pattern, self.seen.decode(errors="replace"))) < count:
            if time.monotonic() > end or (not self.look() and self.process.poll() is not None):
                return False
        return True

    def tell(self, how: str) -> None:
        """A key, or a signal to the program alone."""
        if how in KEYS:
            os.write(self.master, KEYS[how])
        else:
            self.process.send_signal(signal.Signals[how])

    def code(self) -> int | None:
        """Its exit code; None for one that does not end."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < end:
            self.look()
        while self.look():
            pass
        return self.process.returncode


def main(how: str, pattern: str, count: str, *command: str) -> None:
    """Watch it, end it, say how that was."""
    watched = Watched(list(command))
    came = watched.wait_for(pattern, int(count))
    if how != "none":
        watched.tell(how)
    code = watched.code()
    restored = termios.tcgetattr(watched.slave) == watched.before
    text = watched.seen.decode(errors="replace")
    json.dump({"came": came, "code": code, "restored": restored, "text": text}, sys.stdout)
    if code is None:
        watched.process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
