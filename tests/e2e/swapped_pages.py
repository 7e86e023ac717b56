# SPDX-License-Identifier: GPL-2.0
"""Pages that say which they are, in a group, and pushing them out: for programs that run in a guest as scripts."""

import ctypes
import mmap
import os
import time
from collections.abc import Iterable
from pathlib import Path

PAGE = mmap.PAGESIZE
MADV_PAGEOUT = 21
MCL_ALL_ON_FAULT = 1 | 2 | 4  # MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT


def meminfo(name: str) -> int:
    """Bytes, by /proc/meminfo."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def content(number: int) -> bytes:
    """A page that compresses well, is not zero-filled and says which it is."""
    return (number + 1).to_bytes(8, "little") * (PAGE // 8)


def enter(group: str) -> None:
    """Go to a group below $CG: what is new in memory from now on is charged there."""
    with open(f"{os.environ['CG']}/{group}/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))


def anonymous(pages: int) -> mmap.mmap:
    """So much private memory, with nothing in it."""
    return mmap.mmap(-1, pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def fill(memory: mmap.mmap, pages: Iterable[int], turn: int = 0) -> None:
    """Write what these pages hold in a turn."""
    for page in pages:
        memory[page * PAGE : (page + 1) * PAGE] = content(page + turn)


def holds(memory: mmap.mmap, pages: Iterable[int], turn: int = 0) -> bool:
    """Whether all of these pages have what fill() wrote."""
    return all(memory[page * PAGE : (page + 1) * PAGE] == content(page + turn) for page in pages)


def address(memory: mmap.mmap, page: int = 0) -> ctypes.c_void_p:
    """Where a page is, for system calls of the C library."""
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + page * PAGE)


def lock(memory: mmap.mmap, pages: range, call: str = "mlock") -> None:
    """Lock these pages in memory; "munlock" unlocks them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, call)(address(memory, pages.start), ctypes.c_size_t(len(pages) * PAGE)):
        raise OSError(ctypes.get_errno(), call)


def stay_in_memory() -> None:
    """Nothing of this process is swapped from now on, but what swappable() gives."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(MCL_ALL_ON_FAULT):
        raise OSError(ctypes.get_errno(), "mlockall")


def swappable(pages: int) -> mmap.mmap:
    """anonymous() that is swapped all the same."""
    memory = anonymous(pages)
    lock(memory, range(pages), "munlock")
    return memory


def page_out(memory: mmap.mmap, size: int) -> None:
    """Ask until it is done: a page in use for a moment is left out.

    So is one that a CPU has not put onto the LRU yet; only asking there does that.
    """
    cpus = os.sched_getaffinity(0)
    for _ in range(5):
        for cpu in cpus:
            os.sched_setaffinity(0, {cpu})
            memory.madvise(MADV_PAGEOUT, 0, size)
        time.sleep(0.05)
    os.sched_setaffinity(0, cpus)
