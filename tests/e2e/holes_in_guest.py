# SPDX-License-Identifier: GPL-2.0
"""Make holes in zswap's pool, then swap out pages of another size; runs in a guest. Prints JSON.

``--first`` pages that compress to a third are swapped out, all but one in four of them are freed,
and ``--second`` pages that compress to a half are swapped out. Every page that was not freed is read
and checked in the end.
"""

import argparse
import json
import mmap
import random
import struct
import sys
import time
from collections.abc import Iterable
from pathlib import Path

PAGE = mmap.PAGESIZE
HEAD = struct.Struct("<QQ")
STATE = ("Zswap", "Zswapped")


def state() -> dict[str, int]:
    """Bytes of the pool, of what is in it, and of its limit; pages written back since boot."""
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    events = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    found = {name.lower(): int(memory[name].split()[0]) << 10 for name in STATE}
    percent = int(Path("/sys/module/zswap/parameters/max_pool_percent").read_text())
    limit = (int(memory["MemTotal"].split()[0]) << 10) * percent // 100
    return {**found, "limit": limit, "zswpwb": int(events["zswpwb"])}


def content(page: int, repeats: int, noise: bytes) -> bytes:
    """A page that compresses to one in ``repeats``: its number, and the same random bytes again and again."""
    start = page * 1361 % (len(noise) - PAGE)
    piece = noise[start : start + PAGE // repeats]
    return (HEAD.pack(page, repeats) + piece * (repeats + 1))[:PAGE]


def swap_out(reclaim: Path) -> None:
    """Ask for all of the group's memory, until nothing more is swapped out."""
    before = -1
    for _ in range(20):
        try:
            reclaim.write_text("1G")
        except OSError:
            pass  # less than that could be had
        now = state()["zswapped"]
        if now == before:
            return
        before = now
        time.sleep(0.2)


class Area:
    """Pages that say which they are."""

    def __init__(self, pages: int, repeats: int, noise: bytes) -> None:
        self.repeats, self.noise = repeats, noise
        self.memory = mmap.mmap(-1, pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for page in range(pages):
            self.memory[page * PAGE : (page + 1) * PAGE] = content(page, repeats, noise)

    def free(self, pages: Iterable[int]) -> None:
        """Give pages back."""
        for page in pages:
            self.memory.madvise(mmap.MADV_DONTNEED, page * PAGE, PAGE)

    def bad(self, pages: Iterable[int]) -> int:
        """How many of them are wrong."""
        return sum(
            self.memory[page * PAGE : (page + 1) * PAGE] != content(page, self.repeats, self.noise)
            for page in pages
        )


def main() -> None:
    """Fill, free, fill, check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--second", type=int, required=True)
    parser.add_argument("--reclaim", type=Path, required=True, help="memory.reclaim of the group")
    args = parser.parse_args()
    chance = random.Random(1)
    noise = chance.randbytes(1 << 20)
    first = Area(args.first, 3, noise)
    swap_out(args.reclaim)
    seen = {"first": state()}
    kept = set(chance.sample(range(args.first), args.first // 4))
    first.free(page for page in range(args.first) if page not in kept)
    seen["freed"] = state()
    second = Area(args.second, 2, noise)
    swap_out(args.reclaim)
    seen["second"] = state()
    bad = first.bad(kept) + second.bad(range(args.second))
    json.dump({"bad": bad, **seen}, sys.stdout)


main()
