# SPDX-License-Identifier: GPL-2.0
"""Make folios whose pages are in several places, and read them back; runs in a guest. Prints JSON.

Folios of 64 KB are swapped out whole, to zswap. Then some pages of each are read one by one, with large
folios switched off, overwritten, and swapped out again, to the slots that they had: as zeroes, or to a
device. Reading one page of each folio may bring all of it back. With "failing", the first request of each
such read fails.
"""

import argparse
import ctypes
import json
import mmap
import resource
import sys
from pathlib import Path

from tests.e2e.swapped_pages import PAGE, content, page_out

PAGES = 16  # of a folio
OTHERS = (3, 4, 15)  # pages of each folio that are elsewhere
SIZES = Path("/sys/kernel/mm/transparent_hugepage")
SIZE = SIZES / f"hugepages-{PAGES * PAGE >> 10}kB"
ZSWAP = Path("/sys/module/zswap/parameters/enabled")
FAIL = Path("/sys/kernel/debug/fail_make_request")
EVENTS = ("zswpin", "swpin_zero", "pswpin")


def counters() -> dict[str, int]:
    """Faults of this process, events of the machine, and folios of the size that were read whole."""
    found = {"faults": resource.getrusage(resource.RUSAGE_SELF).ru_majflt}
    for line in Path("/proc/vmstat").read_text().splitlines():
        name, value = line.split()
        if name in EVENTS:
            found[name] = int(value)
    found["swpin"] = int((SIZE / "stats" / "swpin").read_text())
    return found


def main() -> None:
    """Fill, swap out, replace some pages, read back, check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folios", type=int, required=True)
    parser.add_argument("--others", choices=("zero", "device", "failing"), required=True)
    args = parser.parse_args()

    (SIZES / "enabled").write_text("never")
    (SIZE / "enabled").write_text("always")
    size = (args.folios + 1) * PAGES * PAGE
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    first = -address // PAGE % PAGES
    folios = [first + number * PAGES for number in range(args.folios)]
    held = [content(page) for page in range(size // PAGE)]

    def differing() -> int:
        return sum(memory[page * PAGE : (page + 1) * PAGE] != data for page, data in enumerate(held))

    for page, data in enumerate(held):
        memory[page * PAGE : (page + 1) * PAGE] = data
    page_out(memory, size)

    (SIZE / "enabled").write_text("never")
    for page in (start + other for start in folios for other in OTHERS):
        if memory[page * PAGE : (page + 1) * PAGE] != held[page]:
            sys.exit(f"page {page} is wrong already")
        held[page] = bytes(PAGE) if args.others == "zero" else content(page + len(held))
        memory[page * PAGE : (page + 1) * PAGE] = held[page]
    ZSWAP.write_text("Y" if args.others == "zero" else "N")
    page_out(memory, size)
    ZSWAP.write_text("Y")
    (SIZE / "enabled").write_text("always")

    before = counters()
    for start in folios:
        if args.others == "failing":
            (FAIL / "times").write_text("1")
        memory[start * PAGE]
    after = counters()
    bad = differing()
    json.dump({"read": {name: after[name] - before[name] for name in after}, "bad": bad}, sys.stdout)


if __name__ == "__main__":
    main()
