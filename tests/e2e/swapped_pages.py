# SPDX-License-Identifier: GPL-2.0
"""Pages that say which they are, and pushing them out: for programs that run in a guest as scripts."""

import mmap
import time

PAGE = mmap.PAGESIZE
MADV_PAGEOUT = 21


def content(number: int) -> bytes:
    """A page that compresses well, is not zero-filled and says which it is."""
    return (number + 1).to_bytes(8, "little") * (PAGE // 8)


def page_out(memory: mmap.mmap, size: int) -> None:
    """Ask until it is done: a page in use for a moment is left out."""
    for _ in range(5):
        memory.madvise(MADV_PAGEOUT, 0, size)
        time.sleep(0.05)
