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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vswaplab.guestprograms.stress.disturber import CGROUP, THP, Disturber, write
from vswaplab.guestprograms.stress.groups import WORKERS

MODES = (
    "anon", "shm-tmpfs", "shm-memfd", "fork", "fork-many", "dontneed", "free", "pageout", "mremap", "munmap",
    "read", "churn",
)  # fmt: skip
_LOOK = 5.0  # seconds, at least
_NOTES = 20  # failures that are reported
_WRONG = b"differs from byte"  # what swapcheck prints of a page with wrong content

_GROWN = 512  # pages in memory, or twice what the program itself has: it has got past its start

# In the group if there is one; then the program.
_ENTER = """
echo 0 > /proc/self/oom_score_adj
[ -z "$1" ] || echo 0 > "$1/cgroup.procs"
shift; exec "$@"
"""


@dataclass
class Worker:
    """A process, what it was started with, and where it writes what it has to say."""

    process: subprocess.Popen[bytes]
    argv: list[str]
    group: str
    report: Path
    said: Path
    fails: bool = False  # do its allocations fail?


def arguments(rng: random.Random, megabytes: int, reads: float = 0) -> list[str]:
    """swapcheck with a mode, a mixture of pages and a way to push them out that nobody chose.

    With ``reads`` it is mode churn for half a minute, and so many percent of its steps change nothing.
    """
    mode = "churn" if reads else rng.choice(MODES)
    # A debug kernel swaps a thousand pages a second: all of it several times would take minutes.
    passes = rng.choice((1, 2, 4) if megabytes < 48 else (1, 2))
    argv = [
        "swapcheck", "--mode", mode, "--size", f"{megabytes}M", "--seed", str(rng.randrange(1 << 30)),
        "--zero", str(rng.choice((0, 5, 30))), "--same", str(rng.choice((0, 5))),
        "--text", str(rng.choice((0, 20, 40))), "--random", str(rng.choice((0, 2, 10, 25))),
        "--rewrite", str(rng.choice((0, 10, 50))), "--passes", str(passes),
        "--order", rng.choice(("sequential", "random", "alternate")), "--seconds", "30" if reads else "4",
        "--allow-skip",
    ]  # fmt: skip
    if reads:
        argv += ["--reads", str(reads)]
    if mode == "fork":
        argv += ["--children", "6"]
    ways = [["--pageout"], ["--reclaim"]] if WORKERS[0].exists() else [["--pageout"]]
    if megabytes >= 16:  # it may be too much for the guest; less has to be pushed out
        ways.insert(0, [])
    argv += rng.choice(ways)
    return argv + (["--hugepage"] if rng.random() < 0.3 and THP.exists() else [])


def started(argv: Sequence[str], name: str, group: Path | None) -> Worker:
    """A worker with a session of its own, so that it can be killed with its children."""
    report, said = Path(f"/run/{name}.json"), Path(f"/run/{name}.out")
    whole = [*argv, f"--json={report}"]
    where = str(group) if group is not None and group.exists() else ""
    enter = ["sh", "-c", _ENTER, "sh", where]
    with said.open("wb") as output:
        process = subprocess.Popen([*enter, *whole], stdout=output, stderr=output, start_new_session=True)
    return Worker(process, whole, where, report, said)


def let_fail(worker: Worker) -> None:
    """Let its allocations fail from now on, if it has much of its memory: one that cannot start swaps nothing."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        process = Path(f"/proc/{worker.process.pid}")
        if int((process / "statm").read_text().split()[1]) >= _GROWN:
            worker.fails = write(process / "make-it-fail", 1)


def kill(worker: Worker) -> None:
    """The process and its children, and wait for it."""
    if worker.process.poll() is None:
        os.killpg(worker.process.pid, signal.SIGKILL)
    worker.process.wait()


def _ticks(session: int) -> dict[Path, tuple[int, int]]:
    """The processes of a session, and ticks that they had in user space and in the kernel."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                found[process] = int(fields[11]), int(fields[12])
    return found


def whereabouts(session: int) -> list[str]:
    """What the processes of a session do: state, memory, time used while one looks, and where in the kernel."""
    before, start = _ticks(session), time.monotonic()
    time.sleep(_LOOK)
    after, seconds = _ticks(session), time.monotonic() - start  # in a slow guest it is much longer
    found = []
    for process in before.keys() & after.keys():
        user, system = (now - then for now, then in zip(after[process], before[process], strict=True))
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines = [line.split() for line in (process / "status").read_text().splitlines()]
            status = {line[0]: line[1] for line in lines if len(line) > 1}
            facts = " ".join(f"{name} {status.get(f'{name}:', '-')}" for name in ("State", "VmRSS", "VmSwap"))
            stack = ""
            with contextlib.suppress(PermissionError):
                stack = " ".join(line.split()[-1] for line in (process / "stack").read_text().splitlines())
            used = f"{user} and {system} ticks in {seconds:.1f} s"
            found.append(f"{process.name}: {facts}, {used}; {stack or 'no stack'}")
    return found


def outcome(worker: Worker) -> dict[str, Any]:
    """What one that has ended reports; at least "mismatches", "checks" and "end", its files removed.

    One that was killed while it wrote has no report, but may have said that a page was wrong.
    """
    code = worker.process.returncode
    found: dict[str, Any] = {"mismatches": 0, "checks": 0}
    with contextlib.suppress(FileNotFoundError, ValueError):
        found |= json.loads(worker.report.read_text())
    found["mismatches"] = max(found["mismatches"], worker.said.read_bytes().count(_WRONG))
    how = signal.Signals(-code).name if code < 0 else f"exit {code}"
    found["end"] = "verified" if found.get("verified") else how
    worker.report.unlink(missing_ok=True)
    worker.said.unlink()
    return found


class Crowd:
    """Workers, ``number`` at a time, each with its part of ``megabytes``. Every byte of theirs is verified.

    ``injected``: allocations of theirs are made to fail. ``reads``: percent of their steps that only verify.
    """

    def __init__(
        self, rng: random.Random, number: int, megabytes: int, groups: Sequence[Path], *,
        injected: bool = False, reads: float = 0,
    ) -> None:  # fmt: skip
        self._rng, self._number, self._each = rng, number, max(4, megabytes // number)
        self._groups, self._injected, self._reads = groups, injected, reads
        self._running: list[Worker] = []
        self._started = 0
        self.checks = self.mismatches = 0
        self.ends: Counter[str] = Counter()
        self.notes: list[str] = []

    def _start(self) -> None:
        self._started += 1
        argv = arguments(self._rng, self._each, self._reads)
        self._running.append(started(argv, f"worker{self._started}", self._rng.choice(self._groups)))

    def _take(self, worker: Worker) -> None:
        found = outcome(worker)
        self.checks += found["checks"]
        self.mismatches += found["mismatches"]
        self.ends[found["end"]] += 1
        if found["end"] != "verified" and len(self.notes) < _NOTES:
            keys = ("mode", "first_failures", "first_mismatches")
            modes = [{key: mode[key] for key in keys} for mode in found.get("modes", [])]
            self.notes.append(json.dumps([worker.group, worker.argv, found["end"], modes]))

    def keep(self) -> None:
        """Take what has ended, and start others in its place."""
        for worker in list(self._running):
            if worker.process.poll() is not None:
                self._running.remove(worker)
                self._take(worker)
            elif self._injected and not worker.fails:
                let_fail(worker)
        for _ in range(self._number - len(self._running)):
            self._start()

    def end(self, seconds: float) -> bool:
        """Wait until all have ended; False if some had to be killed after so many seconds."""
        until = time.monotonic() + seconds
        late = False
        for worker in self._running:
            try:
                worker.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                late = True
                self.notes.append(f"still running: {worker.group} {worker.argv}")
                self.notes += whereabouts(worker.process.pid)
                kill(worker)
            self._take(worker)
        self._running = []
        return not late


class Deaths(Disturber):
    """Processes are killed at any moment; what they had in swap is freed."""

    pause = 0.4
    name = "victim"

    def __init__(self, rng: random.Random, memory: int) -> None:
        super().__init__(rng, memory)
        self._victim: Worker | None = None

    def _end(self) -> bool:
        """Kill it, and take what it found. Whether it was alive."""
        victim, self._victim = self._victim, None
        if victim is None:
            return False
        alive = victim.process.poll() is None
        kill(victim)
        self.mismatches += outcome(victim)["mismatches"]
        return alive

    def step(self) -> None:
        """One is started, or killed."""
        if self._victim is None:
            argv = arguments(self.rng, max(4, self.memory // 16))
            self._victim = started(argv, self.name, self.rng.choice(WORKERS))
        else:
            self.done["killed" if self._end() else "ended before it was killed"] += 1

    def undo(self) -> None:
        """None is left."""
        self._end()


class OutOfMemory(Deaths):
    """A group takes more than it may have, of what does not compress, until the OOM killer comes."""

    pause = 1.0
    name = "greedy"
    group = CGROUP / "greedy"

    def possible(self) -> bool:
        """Whether there are groups."""
        return WORKERS[0].exists()

    def step(self) -> None:
        """Another one, in place of the last."""
        self._end()
        self.group.mkdir(exist_ok=True)
        size = max(4, self.memory // 32)
        write(self.group / "memory.max", f"{size}M")
        write(self.group / "memory.swap.max", self.rng.choice(("max", "0", "2M")))
        argv = ["swapcheck", "--size", f"{4 * size}M", "--random", str(self.rng.choice((60, 100)))]
        self._victim = started(argv, self.name, self.group)

    def undo(self) -> None:
        """None is left; how many the OOM killer took."""
        super().undo()
        if self.group.exists():
            events = dict(line.split() for line in (self.group / "memory.events").read_text().splitlines())
            self.done["OOM kills"] = int(events["oom_kill"])
