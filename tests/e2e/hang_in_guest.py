# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: a device of the device mapper hangs for a while, and others go on, or do not.

Arguments: "bystanders", "reader" or "other", the name of the device, for how many seconds it hangs. Prints JSON.

bystanders: how much is done in some seconds before the hang and during it, and the longest that one
operation took, by a process that reads files (so that memory is reclaimed), one whose data is in zswap
and stays there (group "zswapped"), one whose data is in memory and that takes and gives back some more
("memory"), and one that reclaims the memory of a group ("reclaimed"). kswapd's longest wait as well.

reader: a process of the group "reader" has its data in zswap. The device hangs, then the data is written
back by somebody else, and the process reads it again: how long that took for each page, at most.

other: the same data is written back to two devices of one priority, until both have some. One of them, the
one named, hangs, with all requests of writeback, while the other one is removed.
"""

import fcntl
import hashlib
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.swapped_pages import PAGE, stay_in_memory, swappable

CGROUP = Path("/sys/fs/cgroup")
DM_DEV_SUSPEND = 0xC138FD06
SUSPEND, SKIP_LOCKFS, NOFLUSH = 1 << 1, 1 << 10, 1 << 11
WARM_UP = 6.0  # seconds, until rates are steady
BEFORE = 5.0  # seconds that are "usual"
CHUNK = 256 << 10


def content(page: int, version: int) -> bytes:
    """A page that compresses to a quarter and a bit."""
    return hashlib.shake_128(b"%d %d" % (page, version)).digest(PAGE // 4) + bytes(PAGE - PAGE // 4)


class Data:
    """Pages that are checked whenever they are read."""

    def __init__(self, pages: int) -> None:
        self.region = swappable(pages)
        self.versions = bytearray(pages)
        for page in range(pages):
            self.region[page * PAGE : (page + 1) * PAGE] = content(page, 0)

    def check(self, page: int) -> None:
        """Raise ValueError if it is not what was written."""
        if self.region[page * PAGE : (page + 1) * PAGE] != content(page, self.versions[page]):
            raise ValueError(f"page {page} is wrong")

    def rewrite(self, page: int) -> None:
        """Something else."""
        self.versions[page] = (self.versions[page] + 1) % 256
        self.region[page * PAGE : (page + 1) * PAGE] = content(page, self.versions[page])

    def check_all(self) -> None:
        """Every page."""
        for page in range(len(self.versions)):
            self.check(page)


class Board:
    """Shared by all processes: the phase, and by process and phase what was done and the longest wait."""

    PHASES = ("filling", "usual", "hang", "end")
    ENTRY = struct.Struct("dd")

    def __init__(self, processes: int) -> None:
        self.memory = mmap.mmap(-1, PAGE)
        self.processes = processes

    @property
    def phase(self) -> int:
        """The index of a phase."""
        return self.memory[0]

    def enter(self, phase: str) -> None:
        """For all."""
        self.memory[0] = self.PHASES.index(phase)

    def ready(self, process: int) -> None:
        """The process is set up."""
        self.memory[1 + process] = 1

    def all_ready(self) -> bool:
        """All of them are."""
        return sum(self.memory[1 : 1 + self.processes]) == self.processes

    def entry(self, process: int, phase: int) -> tuple[float, float]:
        """(operations, seconds of the longest)."""
        done, longest = self.ENTRY.unpack_from(self.memory, 64 + (process * 4 + phase) * self.ENTRY.size)
        return done, longest

    def add(self, process: int, phase: int, seconds: float) -> None:
        """One more operation; it is counted in the phase in which it began."""
        done, longest = self.entry(process, phase)
        place = 64 + (process * 4 + phase) * self.ENTRY.size
        self.ENTRY.pack_into(self.memory, place, done + 1, max(longest, seconds))


def join_group(name: str) -> None:
    """This process, from now on."""
    (CGROUP / name / "cgroup.procs").write_text("0")


def file_reader() -> tuple[Callable[[], None], Callable[[], None]]:
    """More than there is memory, so that what was read has to be thrown away."""
    fd = os.open(sys.argv[4], os.O_RDONLY)
    size = os.lseek(fd, 0, os.SEEK_END)
    buffer, place = bytearray(CHUNK), 0

    def read() -> None:
        nonlocal place
        os.preadv(fd, [buffer], place)
        place = (place + CHUNK) % (size - CHUNK)

    return read, lambda: None


def zswapped() -> tuple[Callable[[], None], Callable[[], None]]:
    """One page is read and another rewritten, at random."""
    join_group("zswapped")
    data = Data(10_000)

    def touch() -> None:
        page = random.randrange(len(data.versions))
        data.check(page)
        data.rewrite(page)

    return touch, data.check_all


def in_memory() -> tuple[Callable[[], None], Callable[[], None]]:
    """All of its data is used all the time; a megabyte is taken and given back."""
    join_group("memory")
    data = Data(500)
    more = swappable(256)

    def touch() -> None:
        for page in range(0, 500, 10):
            data.check(page)
        for page in range(256):
            more[page * PAGE] = 1
        more.madvise(mmap.MADV_DONTNEED)

    return touch, data.check_all


def reclaimer() -> tuple[Callable[[], None], Callable[[], None]]:
    """Reclaims a group's memory, a quarter of a megabyte at a time; needs none of the data until the end."""
    join_group("reclaimed")
    data = Data(20_000)
    join_group("")

    def reclaim() -> None:
        time.sleep(0.2)
        try:
            (CGROUP / "reclaimed/memory.reclaim").write_text("256K")
        except OSError:  # there was less
            pass

    return reclaim, data.check_all


def go_on(board: Board, index: int, make: Callable[[], tuple[Callable[[], None], Callable[[], None]]]) -> None:
    """A process: the same operation until the end."""
    stay_in_memory()
    operation, check = make()
    board.ready(index)
    while (phase := board.phase) != Board.PHASES.index("end"):
        start = time.monotonic()
        operation()
        board.add(index, phase, time.monotonic() - start)
    check()


def suspend(name: str, hang: bool) -> None:
    """Have the device answer no more, or again. Looks at no data, flushes nothing."""
    flags = (SUSPEND | SKIP_LOCKFS | NOFLUSH) if hang else 0
    request = struct.pack("=3IIIIiIIIQ128s129s7s", 4, 0, 0, 312, 0, 0, 0, flags, 0, 0, 0, name.encode(), b"", b"")
    with open("/dev/mapper/control", "rb+", buffering=0) as control:
        fcntl.ioctl(control, DM_DEV_SUSPEND, bytearray(request))


class Watch:
    """A task's longest single wait in D state, looked at every 10 ms."""

    def __init__(self, comm: str) -> None:
        tasks = Path("/proc").glob("[0-9]*/comm")
        self.status = next(task.with_name("status") for task in tasks if task.read_text().startswith(comm))
        self.switches, self.since, self.longest = "", 0.0, 0.0

    def look(self) -> None:
        """Once."""
        status = dict(line.split(":\t", 1) for line in self.status.read_text().splitlines() if ":\t" in line)
        now = time.monotonic()
        if not status["State"].startswith("D") or status["voluntary_ctxt_switches"] != self.switches:
            self.switches, self.since = status["voluntary_ctxt_switches"], now
        if status["State"].startswith("D"):
            self.longest = max(self.longest, now - self.since)


def watched(seconds: float, watch: Watch) -> None:
    """Let time pass."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        watch.look()
        time.sleep(0.01)


def vmstat(*names: str) -> dict[str, int]:
    """Some of the counters."""
    pairs = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return {name: int(value) for name, value in pairs if name in names}


COUNTERS = ("nr_writeback", "zswpwb", "pgscan_kswapd", "pgscan_direct", "pswpin", "pswpout", "zswpin", "zswpout")


def bystanders(device: str, seconds: float) -> object:
    """See above."""
    makers = {"reader": file_reader, "zswapped": zswapped, "memory": in_memory, "reclaimer": reclaimer}
    board = Board(len(makers))
    children = []
    for index, make in enumerate(makers.values()):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                go_on(board, index, make)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    stay_in_memory()
    watch = Watch("kswapd")
    while not board.all_ready():
        time.sleep(0.05)
    time.sleep(WARM_UP)
    at: list[dict[str, int]] = [vmstat(*COUNTERS)]
    board.enter("usual")
    watched(BEFORE, watch)
    at.append(vmstat(*COUNTERS))
    watch.longest = 0.0
    suspend(device, True)
    board.enter("hang")
    watched(seconds, watch)
    at.append(vmstat(*COUNTERS))
    kswapd = watch.longest
    board.enter("end")
    suspend(device, False)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    report: dict[str, object] = {"kswapd": kswapd, "codes": codes, "vmstat": at}
    for index, name in enumerate(makers):
        usual, hang = board.entry(index, 1), board.entry(index, 2)
        report[name] = {"usual": usual[0] / BEFORE, "hang": hang[0] / seconds, "longest": hang[1]}
    return report


def write_back(device_hangs_for: float) -> None:
    """Whoever reclaims the group's memory writes its zswap entries back."""
    end = time.monotonic() + device_hangs_for
    while time.monotonic() < end:
        try:
            (CGROUP / "reader/memory.reclaim").write_text("8M")
        except OSError:
            time.sleep(0.05)


def data_in_zswap(pages: int) -> Data:
    """Of the group "reader", all of it; zswap's shrinker is not on yet."""
    stay_in_memory()
    join_group("reader")
    data = Data(pages)
    join_group("")
    for _ in range(10):
        try:
            (CGROUP / "reader/memory.reclaim").write_text("64M")
        except OSError:
            time.sleep(0.1)
    return data


def reader(device: str, seconds: float) -> object:
    """See above."""
    pages = 6000
    data = data_in_zswap(pages)
    zswap = vmstat("nr_writeback", "zswpwb", "zswpout", "pswpout")
    suspend(device, True)
    start = time.monotonic()
    Path("/sys/module/zswap/parameters/shrinker_enabled").write_text("Y")
    pid = os.fork()
    if not pid:
        write_back(seconds / 5)
        os._exit(0)
    time.sleep(seconds / 5)
    in_flight = vmstat("nr_writeback", "zswpwb", "zswpout", "pswpout")
    resumer = os.fork()
    if not resumer:
        time.sleep(max(0.0, start + seconds - time.monotonic()))
        suspend(device, False)
        os._exit(0)
    worst, order = 0.0, list(range(pages))
    random.shuffle(order)
    for page in order:
        begin = time.monotonic()
        data.check(page)
        worst = max(worst, time.monotonic() - begin)
    during = time.monotonic() - start < seconds
    for child in (pid, resumer):
        os.waitpid(child, 0)
    data.check_all()
    return {"before": zswap, "in_flight": in_flight, "worst": worst, "ended_during_hang": during}


def swap_used(device: str) -> int:
    """Bytes of a swap device that are in use."""
    rows = (line.split() for line in Path("/proc/swaps").read_text().splitlines()[1:])
    return next(int(row[3]) * 1024 for row in rows if row[0] == device)


def other(device: str, seconds: float) -> object:
    """See above."""
    data = data_in_zswap(6000)
    suspend(device, True)
    Path("/sys/module/zswap/parameters/shrinker_enabled").write_text("Y")
    for _ in range(100):
        write_back(0.2)
        used = {name: swap_used(name) for name in ("/dev/dm-0", "/dev/dm-1")}
        if min(used.values()):
            break
    Path("/sys/module/zswap/parameters/shrinker_enabled").write_text("N")
    # What is on its way has a slot, and is counted as written back when it has arrived.
    written = vmstat("zswpwb")["zswpwb"]
    start = time.monotonic()
    # timeout's signal ends a swapoff that waits.
    code = subprocess.run(["timeout", "-s", "INT", str(seconds), "swapoff", "/dev/dm-1"]).returncode
    took = time.monotonic() - start
    suspend(device, False)
    data.check_all()
    return {"used": used, "written": written, "code": code, "took": took}


WHAT: dict[str, Callable[[str, float], object]] = {"bystanders": bystanders, "reader": reader, "other": other}
json.dump(WHAT[sys.argv[1]](sys.argv[2], float(sys.argv[3])), sys.stdout)
