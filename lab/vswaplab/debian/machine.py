# SPDX-License-Identifier: GPL-2.0
"""A Debian in QEMU, and root's shell on its serial console."""

import contextlib
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vswaplab.errors import GuestLost, GuestTimeout, ToolError
from vswaplab.guest import splats
from vswaplab.guest.boot import HeldSignals, end_group, guarded
from vswaplab.guest.qemu import PROGRAM

LOGIN = re.compile(rb"\blogin: ")
SHELL = re.compile(rb"root@\S+# ")
PROMPT = re.compile(rb"\[vswap:(\d+)\]")
# The console's own way to end lines, what was written over afterwards, colours and the like.
_ENDS = re.compile(r"\r+\n")
_CONTROL = re.compile(r"[^\n]*\r|\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[78c=>]")


def plain(data: bytes | bytearray) -> str:
    """What a terminal shows of it in the end."""
    return _CONTROL.sub("", _ENDS.sub("\n", data.decode(errors="replace")))


@dataclass(frozen=True)
class Answer:
    """What a command printed and what it returned."""

    command: str
    output: str
    status: int

    def __str__(self) -> str:
        return f"# {self.command}\n{self.output}"


def qemu(
    disk: Path,
    *,
    memory: int,
    kernel: Path | None = None,
    initrd: Path | None = None,
    append: str = "",
    keep: bool = False,
) -> list[str]:
    """The command for a machine that boots ``disk``, or a kernel of the host with it.

    Unless it is to ``keep`` what it writes to the disk, that goes into a temporary file that has no name. One
    CPU: several would have to take turns, see threads in the lab's own guests.
    """
    snapshot = "off" if keep else "on"
    argv = [
        PROGRAM, "-no-user-config", "-nodefaults", "-display", "none",
        "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", f"{memory >> 10}K",
        "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
        "-drive", f"file={disk},format=raw,if=none,id=root,snapshot={snapshot},cache=unsafe",
        "-device", "virtio-blk-pci,drive=root",
        "-device", "virtio-rng-pci", "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net",
    ]  # fmt: skip
    if kernel is not None:
        argv += ["-kernel", str(kernel), "-append", f"root=/dev/vda1 console=ttyS0 panic=-1 {append}".strip()]
        argv += ["-initrd", str(initrd)] if initrd is not None else []
    return argv


class Debian:
    """A running machine; everything that came over its console is in ``console``."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._bytes = bytearray()
        self._seen = 0  # what was waited for already

    @property
    def console(self) -> str:
        """The console's text so far, without what is for terminals only."""
        text = plain(self._bytes)
        # What the kernel says while the shell waits begins a line of its own.
        return re.sub(rf"({PROMPT.pattern.decode()})", r"\1\n", text)

    def _tail(self) -> str:
        return "\n".join(self.console.splitlines()[-15:])

    def _read(self, seconds: float) -> bool:
        """Take what comes, for at most this long. False if the machine has ended."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        if select.select([descriptor], [], [], max(0.0, seconds))[0]:
            data = os.read(descriptor, 1 << 16)
            self._bytes += data
            return bool(data)
        return True

    def wait(self, pattern: re.Pattern[bytes], seconds: float) -> re.Match[bytes]:
        """Until the console shows it. Raises GuestTimeout, and GuestLost when the machine ends or panics."""
        end = time.monotonic() + seconds
        while not (found := pattern.search(self._bytes, self._seen)):
            left = end - time.monotonic()
            if left <= 0:
                what = f"no {pattern.pattern!r} within {seconds:g} s"
                raise GuestTimeout(f"{what}; the console's end:\n{self._tail()}")
            if not self._read(min(left, 1.0)) or splats.panicked(self.console[-5000:]):
                self._read(2.0)
                raise GuestLost(f"the machine ended; the console's end:\n{self._tail()}")
        self._seen = found.end()
        return found

    def send(self, text: str) -> None:
        """Type it."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def log_in(self, seconds: float) -> float:
        """Wait for the login prompt, and become root in a shell that does not echo. How long it took to boot."""
        start = time.monotonic()
        self.wait(LOGIN, seconds)
        took = time.monotonic() - start
        self.send("root\n")
        self.wait(SHELL, 300)
        # No kernel messages between a command's lines but warnings; the others are in dmesg.
        self.send("dmesg -n 5; stty -echo cols 120; exec env TERM=dumb PAGER=cat PS1='[vswap:$?]' sh\n")
        self.wait(PROMPT, 120)
        return took

    def run(self, command: str, seconds: float = 300) -> Answer:
        """One command of root's shell."""
        before = self._seen
        self.send(command + "\n")
        prompt = self.wait(PROMPT, seconds)
        output = plain(self._bytes[before : prompt.start()]).strip("\n")
        return Answer(command, output, int(prompt[1]))

    def ok(self, command: str, seconds: float = 300) -> str:
        """The output of a command that has to succeed. Raises ToolError."""
        answer = self.run(command, seconds)
        if answer.status != 0:
            raise ToolError(f"{command!r} in the machine returned {answer.status}: {answer.output}")
        return answer.output

    def complaints(self) -> list[str]:
        """The kernel's complaints on the console and in its log."""
        return list(dict.fromkeys(splats.find(self.console) + splats.find(self.ok("dmesg"))))

    def power_off(self, seconds: float = 300) -> None:
        """Orderly, until QEMU has ended."""
        self.send("systemctl poweroff\n")
        end = time.monotonic() + seconds
        while self._read(1.0):
            if time.monotonic() > end:
                raise GuestTimeout(f"not off within {seconds:g} s; the console's end:\n{self._tail()}")
        self.process.wait(30)


@contextlib.contextmanager
def running(argv: Sequence[str], directory: Path) -> Iterator[Debian]:
    """Start it; when the block ends, by whatever, nothing of it is left. QEMU's files go to ``directory``."""
    signals = HeldSignals()
    try:
        process = subprocess.Popen(
            guarded(list(argv)),
            env={**os.environ, "TMPDIR": str(directory)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except BaseException:
        signals.release()
        raise
    try:
        signals.release()
        yield Debian(process)
    finally:
        held = HeldSignals()
        end_group(process)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        held.release()
