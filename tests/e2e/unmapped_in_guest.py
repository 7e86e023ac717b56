# SPDX-License-Identifier: GPL-2.0
"""Unmap parts of folios while they are swapped out, and read the rest back; runs in a guest. Prints JSON.

Folios of one size are swapped out whole. Then pages of each go: the first, the last, some in the middle, both
ends and the middle, or all but one; of every second five folios by munmap(2), of the others by
madvise(MADV_DONTNEED). What is left has to be as it was, what madvise() took has to read as zeroes, and slots
are in use for what is left and nothing else. With --fork there is a child from before that: as long as it
lives, no slot goes, and it has every page.
"""

import argparse
import ctypes
import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tests.e2e.swapped_pages import MADV_PAGEOUT, PAGE, content

MADV_DONTNEED = 4
SIZES = Path("/sys/kernel/mm/transparent_hugepage")
STATE = Path("/sys/kernel/mm/vswap")
libc = ctypes.CDLL(None, use_errno=True)


def slots() -> int:
    """Virtual slots in use."""
    return int((STATE / "slots_used").read_text())


def slots_when(wanted: int) -> int:
    """The same, once it is what is wanted, or does not become so: what was freed goes a moment later."""
    for _ in range(50):
        if slots() == wanted:
            break
        time.sleep(0.1)
    return slots()


def allow(size: Path, when: str) -> None:
    """Have folios of a size, for new memory and for what is read, or not."""
    if size.exists():
        (size / "enabled").write_text(when)


def holes_in(folio: int, nr: int) -> list[range]:
    """Pages of a folio of ``nr`` that go, in runs."""
    middle = nr // 2
    kinds: tuple[list[range], ...] = (
        [range(1)],
        [range(nr - 1, nr)],
        [range(middle - 2, middle + 3)],
        [range(2), range(middle, middle + 1), range(nr - 3, nr)],
        [range(nr - 5), range(nr - 4, nr)],
    )
    return kinds[folio % len(kinds)]


class Folios:
    """Memory in which every folio has its size, if the machine has any."""

    def __init__(self, count: int, kilobytes: int) -> None:
        self.nr = (kilobytes << 10) // PAGE
        size = (count + 1) * self.nr * PAGE
        self.memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.first = -start // PAGE % self.nr
        self.address = start + self.first * PAGE
        self.pages = range(count * self.nr)
        for page in self.pages:
            self.put(page, content(page))

    def put(self, page: int, data: bytes) -> None:
        """Write one."""
        at = (self.first + page) * PAGE
        self.memory[at : at + PAGE] = data

    def differing(self, pages: Iterable[int], zero: bool = False) -> int:
        """How many of these are not as they were, or are not zeroes."""
        found = 0
        for page in pages:
            at = (self.first + page) * PAGE
            found += self.memory[at : at + PAGE] != (bytes(PAGE) if zero else content(page))
        return found

    def swapped(self, pages: Iterable[int]) -> int:
        """How many of these are swapped out, by /proc/self/pagemap."""
        with open("/proc/self/pagemap", "rb") as file:
            file.seek(self.address // PAGE * 8)
            words = struct.unpack(f"{len(self.pages)}Q", file.read(len(self.pages) * 8))
        return sum(words[page] >> 62 & 1 for page in pages)

    def out(self) -> None:
        """Have all swapped out: a page that is in use for a moment is left out."""
        for _ in range(50):
            self.call(libc.madvise, range(len(self.pages)), MADV_PAGEOUT)
            if self.swapped(self.pages) == len(self.pages):
                return
            time.sleep(0.05)

    def call(self, function: "ctypes._FuncPointer", pages: range, *more: int) -> None:
        """madvise() or munmap() of a run of pages."""
        start, length = self.address + pages.start * PAGE, len(pages) * PAGE
        if function(ctypes.c_void_p(start), ctypes.c_size_t(length), *more):
            raise OSError(ctypes.get_errno(), f"{function} of {pages}")


def make_holes(folios: Folios, count: int) -> tuple[set[int], set[int]]:
    """Free pages of each folio. Returns what has been unmapped, and what has become zeroes."""
    unmapped: set[int] = set()
    zeroes: set[int] = set()
    for folio in range(count):
        for hole in holes_in(folio, folios.nr):
            pages = range(folio * folios.nr + hole.start, folio * folios.nr + hole.stop)
            if folio // 5 % 2:
                folios.call(libc.munmap, pages)
                unmapped.update(pages)
            else:
                folios.call(libc.madvise, pages, MADV_DONTNEED)
                zeroes.update(pages)
    return unmapped, zeroes


def fork_child(folios: Folios) -> tuple[int, int, int]:
    """A child that reads everything when it is told to. Returns its pid, where to tell it, where it answers."""
    (wait, go), (answer, say) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.read(wait, 1)
        os.write(say, str(folios.differing(folios.pages)).encode())
        os._exit(0)
    return child, go, answer


def main() -> None:
    """Fill, swap out, unmap, count, read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kilobytes", type=int, required=True, help="of a folio")
    parser.add_argument("--folios", type=int, required=True)
    parser.add_argument("--fork", action="store_true")
    args = parser.parse_args()
    size = SIZES / f"hugepages-{args.kilobytes}kB"
    whole = {name: size / "stats" / name for name in ("zswpout", "swpout") if size.exists()}
    if size.exists():
        (SIZES / "enabled").write_text("never")
    allow(size, "always")

    before = slots()
    went = {name: int(path.read_text()) for name, path in whole.items()}
    folios = Folios(args.folios, args.kilobytes)
    folios.out()
    everything = len(folios.pages)
    seen = {
        "pages": everything,
        "swapped": folios.swapped(folios.pages),
        "whole": sum(int(path.read_text()) - went[name] for name, path in whole.items()),
        "slots, whole": slots_when(before + everything) - before,
    }
    child, go, answer = fork_child(folios) if args.fork else (0, -1, -1)
    unmapped, zeroes = make_holes(folios, args.folios)
    kept = [page for page in folios.pages if page not in unmapped and page not in zeroes]
    seen |= {"kept": len(kept), "kept, swapped": folios.swapped(kept)}
    if child:
        time.sleep(0.5)
        seen["slots, child"] = slots() - before
        # Page by page: a large folio would keep the slots of all its pages while it is in the swap cache.
        allow(size, "never")
        os.write(go, b"!")
        seen["bad, child"] = int(os.read(answer, 20))
        os.waitpid(child, 0)
        allow(size, "always")
    # What the child has read may be in memory, but the parent needs the slot; what only the child had has none.
    seen["slots, kept"] = slots_when(before + len(kept)) - before
    seen["bad"] = folios.differing(kept)
    seen["bad, zeroes"] = folios.differing(zeroes, zero=True)
    json.dump(seen, sys.stdout)
    # Something else may be where pages have been unmapped: Python must not unmap it in the end.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
