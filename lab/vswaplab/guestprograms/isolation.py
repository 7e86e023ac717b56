# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: how much one group gets done while another one does its worst.

The first group, the bystander, has more data than its limit and touches it page by page in random order.
Beside it, one after the other, are neighbours in groups of their own. The limits of all of them must hold, and
nothing of the bystander may be killed. Uses Python's standard library only.

    python3 isolation.py TOUCHES RESULT.json
"""

import ctypes
import json
import mmap
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

PAGE = 4096
MB = 1 << 20
CGROUP = Path("/sys/fs/cgroup")
LIMIT = 24 * MB  # of the bystander, and of each neighbour
DATA = 36 * MB  # of the bystander
WARM_UP = 1000  # touches before those that count
SLOWEST = 5  # percent of touches whose mean is taken
# A limit of memory counts pages in batches and lets a charge through that cannot wait; one of zswap is asked for
# once a folio, and each group's neighbours may store at the same time.
SLACK = MB
MCL_CURRENT, MCL_FUTURE = 1, 2

Ready = Callable[[], object]  # to be called when the neighbour does what it is for
Neighbour = Callable[[str, Ready], None]


def memory(size: int) -> mmap.mmap:
    """Anonymous memory, not locked as that of the driver is."""
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def fill(region: mmap.mmap, noise: int) -> None:
    """Each page gets so many random bytes, and its number over and over."""
    for page in range(len(region) // PAGE):
        data = os.urandom(noise) + b"%8d" % page * ((PAGE - noise) // 8)
        region[page * PAGE : (page + 1) * PAGE] = data


def enter(name: str, limits: dict[str, str] | None = None) -> None:
    """Make the group if there is none, and go there."""
    group = CGROUP / name
    group.mkdir(exist_ok=True)
    for file, value in {"memory.max": str(LIMIT), **(limits or {})}.items():
        (group / file).write_text(value)
    (group / "cgroup.procs").write_text(str(os.getpid()))


def hold(group: Path) -> None:
    """Raises RuntimeError if the group went beyond its memory.max or memory.swap.max, or is beyond zswap.max."""
    for used, limit in (("memory.peak", "memory.max"), ("memory.swap.peak", "memory.swap.max"),
                        ("memory.zswap.current", "memory.zswap.max")):  # fmt: skip
        most, now = (group / limit).read_text().strip(), int((group / used).read_text())
        if most != "max" and now > int(most) + SLACK:
            raise RuntimeError(f"{group.name}: {used} is {now}, {limit} is {most}")


class Bystander:
    """A process that touches pages when it is told, and says how long each took."""

    def __init__(self) -> None:
        orders, self._orders = os.pipe()
        answers, answer = os.pipe()
        if os.fork() == 0:
            os.close(self._orders)
            enter("bystander")
            with os.fdopen(orders) as said, os.fdopen(answer, "w", buffering=1) as out:
                self._serve(said, out)
            os._exit(0)
        self._answers = os.fdopen(answers)
        self._answers.readline()

    def _serve(self, orders: TextIO, out: TextIO) -> None:
        pages = DATA // PAGE
        region = memory(DATA)
        fill(region, 1024)
        first = bytearray(region[page * PAGE] for page in range(pages))
        rng = random.Random(1)
        out.write("ready\n")
        for order in orders:
            times, wrong = [], 0
            for _ in range(int(order)):
                page = rng.randrange(pages)
                at = page * PAGE
                start = time.monotonic_ns()
                byte = region[at]
                region[at] = byte ^ 1
                times.append(time.monotonic_ns() - start)
                wrong += byte != first[page] or int(region[at + PAGE - 8 : at + PAGE]) != page
                first[page] = byte ^ 1
            out.write(json.dumps([times, wrong]) + "\n")

    def touch(self, count: int) -> tuple[list[int], float]:
        """Nanoseconds of each touch, and seconds of all. Raises RuntimeError for wrong data."""
        start = time.monotonic()
        os.write(self._orders, b"%d\n" % count)
        times, wrong = json.loads(self._answers.readline())
        if wrong:
            raise RuntimeError(f"{wrong} pages had wrong content")
        return times, time.monotonic() - start


def swapped(group: str, ready: Ready) -> mmap.mmap:
    """Data that compresses, twice the limit: so half of it is in swap."""
    enter(group)
    region = memory(2 * LIMIT)
    fill(region, 1024)
    ready()
    return region


def usual(group: str, ready: Ready) -> None:
    """More data than the limit, that compresses, touched for ever."""
    region = swapped(group, ready)
    while True:
        for at in range(0, len(region), PAGE):
            region[at] ^= 1


def incompressible(group: str, ready: Ready) -> None:
    """More data than the limit, that does not compress. Without a device the group's OOM killer comes."""
    enter(group)
    ready()
    region = memory(2 * LIMIT)
    while True:
        fill(region, PAGE - 8)


def zeroes(group: str, ready: Ready) -> None:
    """Zero pages, many times as many as the limit, written and forgotten."""
    enter(group)
    ready()
    while True:
        region = memory(16 * LIMIT)
        for at in range(0, len(region), PAGE):
            region[at] = 0
        region.close()


def tmpfs(group: str, ready: Ready) -> None:
    """Files of zeroes in tmpfs, written and removed."""
    enter(group)
    ready()
    path = Path(f"/dev/shm/{group}")
    while True:
        with path.open("wb") as file:
            for _ in range(8 * LIMIT // MB):
                file.write(bytes(MB))
        path.unlink()


def forks(group: str, ready: Ready) -> None:
    """Children of a process that has memory in swap; each writes a part of it and ends."""
    region = swapped(group, ready)
    while True:
        child = os.fork()
        if child == 0:
            for at in range(0, len(region) // 8, PAGE):
                region[at] ^= 1
            os._exit(0)
        os.waitpid(child, 0)


def limited(group: str, ready: Ready, limits: dict[str, str]) -> None:
    """Data that compresses, as much as the limit of memory, written again and again."""
    enter(group, limits)
    region = memory(LIMIT)
    ready()
    while True:
        fill(region, 1024)


def at_swap_limit(group: str, ready: Ready) -> None:
    """Data that may take next to nothing of a device, and nothing of zswap."""
    limited(group, ready, {"memory.swap.max": str(MB), "memory.zswap.max": "0"})


def at_zswap_limit(group: str, ready: Ready) -> None:
    """Data of which zswap may keep next to nothing."""
    limited(group, ready, {"memory.high": str(LIMIT // 2), "memory.zswap.max": str(MB)})


def at_high(group: str, ready: Ready) -> None:
    """Data that may be twice what memory.high has the group keep."""
    limited(group, ready, {"memory.high": str(LIMIT // 2)})


def full_device(group: str, ready: Ready) -> None:
    """Random data on all of the device but what the bystander may need."""
    total = next(
        int(line.split()[1]) << 10 for line in Path("/proc/meminfo").open() if line.startswith("SwapTotal:")
    )
    share = total - DATA - SLACK
    enter(group, {"memory.swap.max": str(share), "memory.zswap.max": "0"})
    region = memory(share + LIMIT // 2)
    fill(region, PAGE - 8)
    ready()
    while True:
        fill(region, PAGE - 8)


def moves(group: str, ready: Ready) -> None:
    """A process that swaps, and goes from group to group, of which the last one is removed."""
    number = 0
    region = swapped(f"{group}0", ready)
    while True:
        for at in range(0, len(region) // 4, PAGE):
            region[at] ^= 1
        number += 1
        enter(f"{group}{number}")
        (CGROUP / f"{group}{number - 1}").rmdir()


def short_lived(group: str, ready: Ready) -> None:
    """The usual one, which may be killed before it has filled its memory."""
    ready()
    usual(group, ready)


KINDS: dict[str, Neighbour | None] = {
    "none": None,
    "usual": usual,
    "incompressible": incompressible,
    "zeroes": zeroes,
    "zeroes in tmpfs": tmpfs,
    "forks": forks,
    "at swap.max": at_swap_limit,
    "at zswap.max": at_zswap_limit,
    "at memory.high": at_high,
    "full device": full_device,
    "moves": moves,
    "killed": short_lived,  # and started again, all the time
}
LIFE = 0.5  # seconds that one that is killed lives


class Beside:
    """A neighbour, which is started again when it has ended; a child of the driver does that."""

    def __init__(self, name: str) -> None:
        self._group = f"neighbour-{name.replace(' ', '-')}"
        ready, tell = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.setsid()
            self._again(KINDS[name], name == "killed", tell)
        os.close(tell)
        # Without a limit: in idle the clock runs ahead, and measures no wait for a disk. The guest's limit holds.
        with os.fdopen(ready, "rb", buffering=0) as said:
            said.read(1)

    def _again(self, kind: Neighbour | None, killed: bool, tell: int) -> None:
        while kind:
            child = os.fork()
            if child == 0:
                os.close(2)  # what the OOM killer ends says nothing
                Path("/proc/self/oom_score_adj").write_text("1000")
                kind(self._group, lambda: os.write(tell, b"."))
            if killed:
                time.sleep(LIFE)
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def end(self) -> None:
        """All of its processes and groups. Raises RuntimeError for a limit that did not hold."""
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        for group in CGROUP.glob(f"{self._group}*"):
            hold(group)
            (group / "cgroup.kill").write_text("1")
            while (group / "cgroup.procs").read_text():
                time.sleep(0.01)
            group.rmdir()
        Path(f"/dev/shm/{self._group}").unlink(missing_ok=True)


def main(count: int, output: Path, names: list[str]) -> None:
    """Measure with each of these neighbours; two words of each page that the bystander touches are compared."""
    ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE)
    bystander = Bystander()
    found = {}
    for name in names:
        beside = Beside(name) if KINDS[name] else None
        bystander.touch(WARM_UP)
        times, seconds = bystander.touch(count)
        if beside:
            beside.end()
        hold(CGROUP / "bystander")
        times.sort()
        slowest = times[count * (100 - SLOWEST) // 100 :]
        found[name] = {
            "touches": count / seconds,
            "slowest": sum(slowest) / len(slowest) / 1000,
            "p99": times[count * 99 // 100] / 1000,
        }
    output.write_text(json.dumps({"verified": True, "found": found}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
