# SPDX-License-Identifier: GPL-2.0
"""Fills memory that compresses to about a third, quickly; then waits and reads it again, or writes to it for ever.

Usage: filled_in_guest.py MIB [busy]
When all is filled there is /run/ready; when there is /run/go, all pages are compared. Exit code 1: one is wrong.
"""

import mmap
import random
import sys
import time
from pathlib import Path

PAGE = 4096
NORESERVE = 0x4000  # a process that grows step by step is not stopped by one large request
numbers = random.Random(1)
# Each page has a number of its own, and the rest in common with few others.
BODIES = [numbers.randbytes(1200) + b"virtual swap " * 222 for _ in range(7)]


def page(number: int) -> bytes:
    """The content of a page."""
    return (number.to_bytes(8, "little") + BODIES[number % len(BODIES)])[:PAGE].ljust(PAGE, b".")


def main() -> None:
    pages = int(sys.argv[1]) * 256
    memory = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)
    for number in range(pages):
        memory[number * PAGE : (number + 1) * PAGE] = page(number)
    Path("/run/ready").touch()
    while sys.argv[2:] == ["busy"]:
        at = numbers.randrange(pages) * PAGE
        memory[at] = (memory[at] + 1) & 255
    while not Path("/run/go").exists():
        time.sleep(0.1)
    bad = sum(memory[number * PAGE : (number + 1) * PAGE] != page(number) for number in range(pages))
    sys.exit(f"{bad} pages are wrong" if bad else 0)


main()
