# SPDX-License-Identifier: GPL-2.0
"""The processes whose memory is swapped and verified, and those that are killed in the middle of it."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from vswaplab.guestprograms.stress.disturber import CGROUP, THP, Disturber, write
from vswaplab.guestprograms.stress.groups import WORKERS

MODES = (
    "anon", "shm-tmpfs", "shm-memfd", "fork", "fork-many", "dontneed", "free", "pageout", "mremap", "munmap",
    "read", "churn",
)  # fmt: skip
_NOTES = 20  # failures that are reported


def command(rng: random.Random, megabytes: int, output: Path) -> list[str]:
    """swapcheck with a mode, a mixture of pages and a way to push them out that nobody chose."""
    argv = [
        "swapcheck", "--mode", rng.choice(MODES), "--size", f"{megabytes}M", "--seed", str(rng.randrange(1 << 30)),
        "--zero", str(rng.choice((0, 5, 30))), "--same", str(rng.choice((0, 5))),
        "--text", str(rng.choice((0, 20, 40))), "--random", str(rng.choice((0, 2, 10, 25))),
        "--rewrite", str(rng.choice((0, 10, 50))), "--passes", str(rng.choice((1, 2, 4))),
        "--order", rng.choice(("sequential", "random", "alternate")), "--seconds", "4", "--children", "6",
        "--allow-skip", f"--json={output}",
    ]  # fmt: skip
    argv += rng.choice(([], ["--pageout"], ["--reclaim"])) if WORKERS[0].exists() else ["--pageout"]
    return argv + (["--hugepage"] if rng.random() < 0.3 and THP.exists() else [])


def started(rng: random.Random, argv: list[str], group: Path | None, injected: bool) -> subprocess.Popen[bytes]:
    """A process in a group of its own, so that it can be killed with its children."""

    def enter() -> None:
        if group is not None and group.exists():
            write(group / "cgroup.procs", os.getpid())
        if injected:
            write(Path("/proc/self/make-it-fail"), 1)

    return subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=enter
    )


class Crowd:
    """Workers, ``number`` at a time, each with its part of ``megabytes``. Every byte of theirs is verified."""

    def __init__(
        self, rng: random.Random, number: int, megabytes: int, scratch: Path, *, injected: bool = False
    ) -> None:
        self._rng, self._number, self._each = rng, number, max(4, megabytes // number)
        self._scratch, self._injected = scratch, injected
        self._running: list[tuple[subprocess.Popen[bytes], list[str], Path]] = []
        self._started = 0
        self.checks = self.mismatches = 0
        self.ends: Counter[str] = Counter()
        self.notes: list[str] = []

    def _start(self) -> None:
        self._started += 1
        output = self._scratch / f"worker{self._started}.json"
        group = self._rng.choice(WORKERS)
        argv = command(self._rng, self._each, output)
        try:
            process = started(self._rng, argv, group if group.exists() else None, self._injected)
        except OSError:
            if not self._injected:
                raise
            self.ends["not started"] += 1
            return
        self._running.append((process, argv, output))

    def _take(self, process: subprocess.Popen[bytes], argv: list[str], output: Path) -> None:
        report: dict[str, Any] = {}
        if output.exists():
            with contextlib.suppress(ValueError):  # killed while it wrote
                report = json.loads(output.read_text())
            output.unlink()
        self.checks += report.get("checks", 0)
        self.mismatches += report.get("mismatches", 0)
        self.ends["verified" if report.get("verified") else how(process.returncode)] += 1
        if not report.get("verified") and len(self.notes) < _NOTES:
            modes = [
                {key: mode[key] for key in ("mode", "first_failures", "first_mismatches")}
                for mode in report.get("modes", [])
            ]
            self.notes.append(json.dumps([argv, how(process.returncode), modes]))

    def keep(self) -> None:
        """Take what has ended, and start others in its place."""
        for entry in list(self._running):
            if entry[0].poll() is not None:
                self._running.remove(entry)
                self._take(*entry)
        for _ in range(self._number - len(self._running)):
            self._start()

    def end(self, seconds: float) -> bool:
        """Wait until all have ended; False if some had to be killed after so many seconds."""
        until = time.monotonic() + seconds
        for process, argv, output in self._running:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                kill(process)
                self.notes.append(f"still running: {argv}")
            self._take(process, argv, output)
        late = time.monotonic() > until
        self._running = []
        return not late


def how(code: int) -> str:
    """In words, how a process ended."""
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process and its children, and wait for it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Deaths(Disturber):
    """Processes are killed at any moment; what they had in swap is freed."""

    pause = 0.4

    def __init__(self, rng: random.Random, memory: int) -> None:
        super().__init__(rng, memory)
        self._victim: subprocess.Popen[bytes] | None = None

    def step(self) -> None:
        """One is started, or killed."""
        if self._victim is None:
            group = self.rng.choice(WORKERS)
            argv = command(self.rng, max(4, self.memory // 16), Path("/dev/null"))
            self._victim = started(self.rng, argv, group if group.exists() else None, False)
        else:
            self.count("killed", self._victim.poll() is None)
            kill(self._victim)
            self._victim = None

    def undo(self) -> None:
        """None is left."""
        if self._victim is not None:
            kill(self._victim)
            self._victim = None


class OutOfMemory(Deaths):
    """A group takes more than it may have, of what does not compress, until the OOM killer comes."""

    pause = 1.0
    group = CGROUP / "greedy"

    def possible(self) -> bool:
        """Whether there are groups."""
        return WORKERS[0].exists()

    def step(self) -> None:
        """One is started; the next step sees whether it was killed."""
        self.group.mkdir(exist_ok=True)
        size = max(4, self.memory // 32)
        write(self.group / "memory.max", f"{size}M")
        write(self.group / "memory.swap.max", self.rng.choice(("max", "0", "2M")))
        if self._victim is not None:
            self.count("killed for want of memory", self._victim.poll() not in (None, 0))
            kill(self._victim)
        argv = ["swapcheck", "--size", f"{4 * size}M", "--random", str(self.rng.choice((60, 100)))]
        self._victim = started(self.rng, argv, self.group, False)
