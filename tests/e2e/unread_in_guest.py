# SPDX-License-Identifier: GPL-2.0
"""Two processes read a large folio of shmem at once, and a page of it cannot be read; runs in a guest.

Folios of 64 KB are swapped out to zswap. When --wait-file is there, a part of their pages has been written
to a device. Then two processes, at the same moment, read two pages of each folio, and the first request of
each read fails. The one that did not start the read waits for the folio: it has its page when that has
failed. If a folio was split before, the page that is read alone is lost, but never a second one. Everything
is compared at the end. Prints JSON.
"""

import argparse
import ctypes
import errno
import json
import mmap
import os
import sys
import time
from pathlib import Path

from tests.e2e.swapped_pages import PAGE, content, page_out

PAGES = 16  # of a folio
SIZES = Path("/sys/kernel/mm/transparent_hugepage")
SIZE = SIZES / f"hugepages-{PAGES * PAGE >> 10}kB"
FAIL = Path("/sys/kernel/debug/fail_make_request/times")
MCL_CURRENT = 1


class Turn:
    """A number in memory that two processes share: the folio that may be touched."""

    def __init__(self, shared: mmap.mmap, place: int) -> None:
        """The number is at the given place, in units of 8 bytes."""
        self.shared, self.place = shared, slice(place * 8, place * 8 + 8)

    def set(self, number: int) -> None:
        """It has come to this folio."""
        self.shared[self.place] = number.to_bytes(8, "little")

    def wait(self, number: int) -> None:
        """Spin, so as not to be late; the other one may have ended."""
        end = time.monotonic() + 60
        while int.from_bytes(self.shared[self.place], "little") < number:
            if time.monotonic() > end:
                sys.exit(f"the other process did not come to folio {number}")


def read(file: int, page: int) -> bytes | None:
    """A page of the file; None if it is lost."""
    try:
        return os.pread(file, PAGE, page * PAGE)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return None


def read_all(file: int, folios: int, page: int, mine: Turn, other: Turn, *, fails: bool) -> int:
    """Read a page of each folio when the other does. Return in how many reads a request failed."""
    failed = 0
    for number in range(1, folios + 1):
        if fails:
            FAIL.write_text("1")
        mine.set(2 * number)
        other.wait(2 * number)
        read(file, number * PAGES + page)
        mine.set(2 * number + 1)
        other.wait(2 * number + 1)
        failed += fails and FAIL.read_text().strip() == "0"
    return failed


def fit(file: int, folios: int) -> tuple[mmap.mmap, int]:
    """Map the file where large folios fit, and tell at which page of the mapping the first one begins.

    That is page PAGES of the file: addresses and offsets have the same remainder.
    """
    size = (folios + 1) * PAGES * PAGE
    os.ftruncate(file, size + PAGES * PAGE)

    def remainder(memory: mmap.mmap) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(memory)) // PAGE % PAGES

    there = mmap.mmap(file, size)
    skipped = remainder(there)
    memory = mmap.mmap(file, size, offset=skipped * PAGE)  # next to the other one, which stays
    if remainder(memory) != skipped:
        sys.exit("the second mapping is not next to the first one")
    return memory, PAGES - skipped


def main() -> None:
    """Fill, swap out, wait, read, check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folios", type=int, required=True)
    parser.add_argument("--ready-file", type=Path, required=True)
    parser.add_argument("--wait-file", type=Path, required=True)
    args = parser.parse_args()

    (SIZE / "shmem_enabled").write_text("always")
    file = os.memfd_create("folios")
    memory, first = fit(file, args.folios)
    held = [content(page) for page in range(args.folios * PAGES)]
    for page, data in enumerate(held):
        memory[(first + page) * PAGE : (first + page + 1) * PAGE] = data
    page_out(memory, len(memory))
    swapped = int((SIZE / "stats" / "zswpout").read_text())
    args.ready_file.touch()
    while not args.wait_file.exists():
        time.sleep(0.05)
    # The requests that fail are to be those for the folios: what reclaim took of the program comes back now.
    memory.close()
    if ctypes.CDLL(None).mlockall(MCL_CURRENT):
        sys.exit("mlockall failed")

    turns = mmap.mmap(-1, PAGE)
    mine, other = Turn(turns, 0), Turn(turns, 1)
    child = os.fork()
    if not child:
        read_all(file, args.folios, 1, other, mine, fails=False)
        os._exit(0)
    failed = read_all(file, args.folios, 0, mine, other, fails=True)
    FAIL.write_text("0")
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = [read(file, PAGES + page) for page in range(len(held))]
    lost = [found[first : first + PAGES].count(None) for first in range(0, len(found), PAGES)]
    bad = sum(page not in (None, data) for page, data in zip(found, held, strict=True))
    json.dump(
        {"swapped": swapped, "failed": failed, "child": ended, "bad": bad, "lost": sum(lost), "most": max(lost)},
        sys.stdout,
    )


if __name__ == "__main__":
    main()
