# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: what system calls and /proc say about pages that are swapped out.

Prints one JSON object: for each of the checks named as arguments, what was seen.
"""

import ctypes
import fcntl
import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable

PAGE = 4096
PAGES = 512
SIZE = PAGES * PAGE
MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_COLLAPSE = 3, 4, 8, 20, 21, 25
libc = ctypes.CDLL(None, use_errno=True)


def pattern(page: int) -> bytes:
    """A page's content: compresses, and is that page's only."""
    return (b"page %6d " % page * (PAGE // 12 + 1))[:PAGE]


class Memory:
    """Anonymous memory full of the pattern."""

    def __init__(self, size: int = SIZE) -> None:
        self.map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.size = size
        self.buffer = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self.buffer)
        for page in range(size // PAGE):
            self.map[page * PAGE : (page + 1) * PAGE] = pattern(page)

    def advise(self, advice: int, size: int | None = None) -> int:
        """madvise(2); 0 or an errno."""
        length = ctypes.c_size_t(size or self.size)
        return ctypes.get_errno() if libc.madvise(ctypes.c_void_p(self.address), length, advice) else 0

    def forget(self, page: int) -> None:
        """Have a page of it freed, wherever it is."""
        libc.madvise(ctypes.c_void_p(self.address + page * PAGE), ctypes.c_size_t(PAGE), MADV_DONTNEED)

    def out(self) -> None:
        """Have it swapped out, and wait until what had to be written is out of memory."""
        for _ in range(50):
            self.advise(MADV_PAGEOUT)
            if self.swapped() >= self.size - 16 * PAGE:
                return
            time.sleep(0.05)

    def intact(self) -> bool:
        """Is all of it as it was?"""
        return all(self.map[n * PAGE : (n + 1) * PAGE] == pattern(n) for n in range(self.size // PAGE))

    def swapped(self) -> int:
        """Bytes of it that are swapped out, by /proc/PID/smaps."""
        at, found = 0, False
        with open("/proc/self/smaps", encoding="ascii") as smaps:
            for line in smaps:
                words = line.split()
                if "-" in words[0] and not words[0].endswith(":"):
                    start, end = (int(number, 16) for number in words[0].split("-"))
                    found = start <= self.address < end
                elif found and words[0] == "Swap:":
                    at = int(words[1]) * 1024
        return at

    def pagemap(self) -> tuple[int, int]:
        """How many of its pages are present, and swapped out, by /proc/PID/pagemap."""
        with open("/proc/self/pagemap", "rb") as file:
            file.seek(self.address // PAGE * 8)
            words = struct.unpack(f"{self.size // PAGE}Q", file.read(self.size // PAGE * 8))
        return sum(word >> 63 for word in words), sum(word >> 62 & 1 for word in words)

    def resident(self) -> int:
        """Pages of it that are in memory, by mincore(2)."""
        seen = ctypes.create_string_buffer(self.size // PAGE)
        libc.mincore(ctypes.c_void_p(self.address), ctypes.c_size_t(self.size), seen)
        return sum(byte & 1 for byte in seen.raw)


def meminfo(name: str) -> int:
    """A line of /proc/meminfo, in bytes."""
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name + ":"))


def vmstat(name: str) -> int:
    """A counter."""
    with open("/proc/vmstat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + " "))


def proc_files() -> dict[str, object]:
    """smaps, pagemap, mincore and the totals, out and in again."""
    memory = Memory()
    total = meminfo("SwapTotal")
    memory.out()
    seen = {
        "swapped": memory.swapped() // PAGE,
        "pagemap": memory.pagemap()[1],
        "resident": memory.resident(),
        "total_changed": meminfo("SwapTotal") != total,
    }
    memory.advise(MADV_WILLNEED)
    time.sleep(0.3)
    return {**seen, "willneed_resident": memory.resident(), "intact": memory.intact(), "left": memory.swapped()}


def advice() -> dict[str, object]:
    """Cold pages stay; pages that may be freed are zero or intact, page by page."""
    memory = Memory()
    memory.advise(MADV_COLD)
    cold = memory.intact()
    memory.out()
    memory.advise(MADV_FREE, SIZE // 2)
    memory.advise(MADV_PAGEOUT)
    half = PAGES // 2
    ok = all(memory.map[n * PAGE : (n + 1) * PAGE] in (pattern(n), bytes(PAGE)) for n in range(half))
    rest = all(memory.map[n * PAGE : (n + 1) * PAGE] == pattern(n) for n in range(half, PAGES))
    return {"cold": cold, "freed_or_intact": ok, "rest": rest}


def compaction() -> dict[str, object]:
    """Pages in the swap cache are migrated."""
    memory = Memory()
    memory.advise(MADV_PAGEOUT)
    memory.advise(MADV_WILLNEED)
    before = vmstat("pgmigrate_success")
    with open("/proc/sys/vm/compact_memory", "w", encoding="ascii") as file:
        file.write("1")
    return {"intact": memory.intact(), "migrated": vmstat("pgmigrate_success") - before}


def collapse() -> dict[str, object]:
    """A huge page is made of pages that are swapped out."""
    memory = Memory(4 * SIZE)
    memory.out()
    out = memory.swapped() // PAGE
    start = -memory.address % (2 << 20)
    error = libc.madvise(ctypes.c_void_p(memory.address + start), ctypes.c_size_t(2 << 20), MADV_COLLAPSE)
    return {"out": out, "error": ctypes.get_errno() if error else 0, "intact": memory.intact()}


def userfaultfd_move() -> dict[str, object]:
    """Pages that are swapped out move to another mapping, without being read."""
    memory = Memory()
    target = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    goal = ctypes.addressof(ctypes.c_char.from_buffer(target))
    fd = libc.syscall(323, os.O_CLOEXEC)
    api = bytearray(struct.pack("QQQ", 0xAA, 1 << 17, 0))
    fcntl.ioctl(fd, 0xC018AA3F, api)
    for address in (memory.address, goal):
        fcntl.ioctl(fd, 0xC020AA00, bytearray(struct.pack("QQQQ", address, SIZE, 1, 0)))
    memory.out()
    out = memory.swapped() // PAGE
    move = bytearray(struct.pack("QQQQq", goal, memory.address, SIZE, 0, 0))
    fcntl.ioctl(fd, 0xC028AA05, move)
    moved = struct.unpack("QQQQq", move)[4] // PAGE
    same = all(target[n * PAGE : (n + 1) * PAGE] == pattern(n) for n in range(PAGES))
    return {"out": out, "moved": moved, "intact": same}


LARGE = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB"


def large(name: str, value: str | None = None) -> str:
    """A file about folios of 64 KB: read it, or write it."""
    with open(f"{LARGE}/{name}", "r" if value is None else "w", encoding="ascii") as file:
        if value is None:
            return file.read()
        return str(file.write(value))


def fragmented() -> dict[str, object]:
    """Large folios go to a device of 32 MB that has room for half of them in one piece each."""
    small = Memory(24 << 20)
    small.out()
    for page in range(1, small.size // PAGE, 2):
        small.forget(page)
    large("enabled", "always")
    before = {name: int(large(f"stats/{name}")) for name in ("swpout", "swpout_fallback")}
    memory = Memory(16 << 20)
    large("enabled", "never")
    memory.out()
    seen = {name: int(large(f"stats/{name}")) - count for name, count in before.items()}
    odd = all(small.map[n * PAGE : (n + 1) * PAGE] == pattern(n) for n in range(0, small.size // PAGE, 2))
    return {**seen, "swapped": memory.swapped() // PAGE, "intact": memory.intact() and odd}


SET_SWAP_AREA, AVAIL_SWAP_SIZE, ALLOC_SWAP_PAGE, FREE_SWAP_PAGES = 0x400C330D, 0x80083313, 0x80083314, 0x3309


def used_of(device: str) -> int:
    """Pages of a swap device that are in use, by /proc/swaps."""
    with open("/proc/swaps", encoding="ascii") as file:
        return next(int(line.split()[3]) * 1024 // PAGE for line in file if line.startswith(device))


def hibernation() -> dict[str, object]:
    """Room for an image, as uswsusp gets it: from a device only, beside the slots that back virtual ones."""
    with open("/proc/swaps", encoding="ascii") as file:
        device = file.readlines()[1].split()[0]
    memory = Memory(8 << 20)
    memory.out()
    before = used_of(device)
    fd = os.open("/dev/snapshot", os.O_RDONLY)

    def ask(request: int) -> int:
        return int(struct.unpack("q", fcntl.ioctl(fd, request, bytes(8)))[0])

    refused = False
    try:
        fcntl.ioctl(fd, SET_SWAP_AREA, struct.pack("=qI", 0, 0))
    except OSError:
        refused = True
    fcntl.ioctl(fd, SET_SWAP_AREA, struct.pack("=qI", 0, os.stat(device).st_rdev))
    room = ask(AVAIL_SWAP_SIZE) // PAGE
    blocks = {ask(ALLOC_SWAP_PAGE) for _ in range(room // 2)}
    intact = memory.intact()
    memory.out()
    during = used_of(device)
    fcntl.ioctl(fd, FREE_SWAP_PAGES)
    os.close(fd)
    return {
        "refused_without_device": refused,
        "wanted": room // 2,
        "got": len(blocks),
        "used": [before, during, used_of(device)],
        "intact": intact and memory.intact(),
    }


CHECKS: dict[str, Callable[[], dict[str, object]]] = {
    check.__name__: check
    for check in (proc_files, advice, compaction, collapse, userfaultfd_move, fragmented, hibernation)
}


def main() -> None:
    sys.stdout.write(json.dumps({name: CHECKS[name]() for name in sys.argv[1:]}) + "\n")


main()
