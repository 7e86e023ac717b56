# SPDX-License-Identifier: GPL-2.0
"""Leave one page of each huge page that is swapped out, then swap out small pages; runs in a guest. Prints JSON.

What is left of huge pages is spread over the virtual space. Small pages should fill the holes rather
than take space of their own. All that was not freed is read and checked in the end.
"""

import argparse
import json
import mmap
import sys
from pathlib import Path

from tests.e2e.swapped_pages import PAGE, content, page_out

HUGE = 2 << 20
STATE = Path("/sys/kernel/mm/vswap")


def state() -> dict[str, int]:
    """Virtual slots in use, and the bytes that describe them."""
    return {name: int((STATE / name).read_text()) for name in ("slots_used", "metadata_bytes")}


def main() -> None:
    """Fill, free, fill, check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--huge", type=int, required=True, help="huge pages")
    parser.add_argument("--small", type=int, required=True, help="pages")
    args = parser.parse_args()

    huge = mmap.mmap(-1, (args.huge + 1) * HUGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    huge.madvise(mmap.MADV_HUGEPAGE)
    for page in range(args.huge * HUGE // PAGE):
        huge[page * PAGE : (page + 1) * PAGE] = content(page)
    seen = {"start": state()}
    page_out(huge, args.huge * HUGE)
    seen["huge"] = state()
    for start in range(0, args.huge * HUGE, HUGE):
        huge.madvise(mmap.MADV_DONTNEED, start + PAGE, HUGE - PAGE)
    seen["freed"] = state()

    small = mmap.mmap(-1, args.small * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    small.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(args.small):
        small[page * PAGE : (page + 1) * PAGE] = content(page)
    page_out(small, args.small * PAGE)
    seen["small"] = state()

    kept = range(0, args.huge * HUGE // PAGE, HUGE // PAGE)
    bad = sum(huge[page * PAGE : (page + 1) * PAGE] != content(page) for page in kept)
    bad += sum(small[page * PAGE : (page + 1) * PAGE] != content(page) for page in range(args.small))
    seen["bad"] = {"pages": bad}
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
