# SPDX-License-Identifier: GPL-2.0
"""swapcheck under a driver: held when all is filled, spoilt from outside, killed, interrupted."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PAGE = 4096
LIMIT_SECONDS = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that is about to happen."""
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def children_of(pid: int) -> list[int]:
    """The processes that ``pid`` has forked."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


class Held:
    """A swapcheck that has filled its memory and waits."""

    def __init__(self, program: Path, directory: Path, *args: str) -> None:
        self.ready, self.go = directory / "ready", directory / "go"
        argv = [str(program), "--size", "4M", "--json", "--ready-file", str(self.ready)]
        argv += ["--wait-file", str(self.go), *args]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(self.ready.exists)

    def workers(self) -> list[int]:
        """Its worker processes."""
        return children_of(self.process.pid)

    def finish(self) -> tuple[int, dict[str, Any]]:
        """Let it go on; its exit code and report."""
        self.go.touch()
        out, _ = self.process.communicate(timeout=LIMIT_SECONDS)
        report = json.loads(out)
        assert isinstance(report, dict)
        return self.process.returncode, report


Holder = Callable[..., Held]


@pytest.fixture
def hold(programs: Path, tmp_path: Path) -> Iterator[Holder]:
    """Start a held swapcheck; it is gone when the test ends."""
    started: list[Held] = []

    def start(*args: str) -> Held:
        started.append(Held(programs / "swapcheck", tmp_path, *args))
        return started[-1]

    yield start
    for held in started:
        held.process.kill()
        held.process.communicate()


def region_start(pid: int, size: int) -> int:
    """The address of the worker's memory: writable, anonymous, and exactly that large."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0 *$", line)
        # The kernel may have merged a neighbour into it; the region is aligned to 2 MiB.
        if match and int(match[2], 16) - int(match[1], 16) >= size:
            start = int(match[1], 16)
            return (start + (2 << 20) - 1) & ~((2 << 20) - 1)
    raise AssertionError("the memory is not there")


def test_waits_until_told(hold: Holder) -> None:
    held = hold()
    time.sleep(0.2)
    assert held.process.poll() is None
    code, report = held.finish()
    assert code == 0 and report["verified"] is True
    assert report["modes"][0]["seconds"]["hold"] >= 0.2


@pytest.mark.parametrize("there", [True, False])
def test_stops_when_told(hold: Holder, tmp_path: Path, there: bool) -> None:
    """A pass is finished, no other begins: with the file there from the start it is one."""
    stop = tmp_path / "stop"
    held = hold("--passes", "3", "--stop-file", str(stop))
    if there:
        stop.touch()
    code, report = held.finish()
    assert code == 0 and report["checks"] == 1024 * (1 if there else 3)


def test_pages_exchanged_behind_its_back(hold: Holder) -> None:
    held = hold("--passes", "1")
    (worker,) = held.workers()
    start = region_start(worker, 4 << 20)
    with open(f"/proc/{worker}/mem", "r+b", buffering=0) as memory:
        pages = {}
        for number in (100, 200):
            memory.seek(start + number * PAGE)
            pages[number] = memory.read(PAGE)
        for number, other in ((100, 200), (200, 100)):
            memory.seek(start + number * PAGE)
            memory.write(pages[other])
    code, report = held.finish()
    assert code == 1 and report["mismatches"] == 2
    told = {entry["page"]: entry["text"] for entry in report["modes"][0]["first_mismatches"]}
    assert told[100].endswith("found page 200 of region 0, generation 0")
    assert told[200].endswith("found page 100 of region 0, generation 0")


def test_one_flipped_bit_behind_its_back(hold: Holder) -> None:
    held = hold("--mode", "fork-many", "--passes", "1")
    (worker,) = held.workers()
    at = region_start(worker, 4 << 20) + 333 * PAGE + 4095
    with open(f"/proc/{worker}/mem", "r+b", buffering=0) as memory:
        memory.seek(at)
        byte = memory.read(1)
        memory.seek(at)
        memory.write(bytes([byte[0] ^ 1]))
    code, report = held.finish()
    assert code == 1
    found = report["modes"][0]["first_mismatches"][0]
    assert (found["page"], found["offset"], found["bytes"]) == (333, 4095, 1)


def test_killed_worker_is_reported(hold: Holder) -> None:
    held = hold("--processes", "3")
    os.kill(held.workers()[1], signal.SIGKILL)
    code, report = held.finish()
    assert code == 1 and report["verified"] is False
    assert report["mismatches"] == 0
    assert report["modes"][0]["killed"] == [{"who": "process 1", "signal": 9, "name": "SIGKILL"}]


def test_killed_child_is_reported(hold: Holder) -> None:
    held = hold("--mode", "fork", "--children", "6")
    (worker,) = held.workers()
    os.kill(children_of(worker)[2], signal.SIGBUS)
    code, report = held.finish()
    assert code == 1
    assert report["modes"][0]["killed"] == [{"who": "child 2 of process 0", "signal": 7, "name": "SIGBUS"}]


def test_nothing_is_left_when_it_is_killed(hold: Holder) -> None:
    held = hold("--mode", "fork", "--children", "6")
    (worker,) = held.workers()
    family = [worker, *children_of(worker)]
    assert len(family) == 4, "half of the children are there before the pressure"
    held.process.kill()
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in family))


def test_a_driver_that_never_comes(programs: Path, tmp_path: Path) -> None:
    argv = [str(programs / "swapcheck"), "--size", "2M", "--wait-file", str(tmp_path / "never")]
    done = subprocess.run([*argv, "--wait-timeout", "0.2"], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 1
    assert "did not appear within" in done.stdout
