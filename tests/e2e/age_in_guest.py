# SPDX-License-Identifier: GPL-2.0
"""Skewed reuse of more memory than RAM and zswap hold; runs in a guest. Prints JSON.

Pages are touched in the order of a Zipf distribution over a random permutation of them, some of them
written. Every page says which it is and how often it was written, and is checked at each touch.
"""

import argparse
import json
import mmap
import random
import struct
import sys
from itertools import accumulate

PAGE = mmap.PAGESIZE
HEAD = struct.Struct("<QQ")


COUNTERS = ("pswpin", "zswpin", "zswpwb", "pswpout")


def counters() -> dict[str, int]:
    """What /proc/vmstat says of COUNTERS."""
    with open("/proc/vmstat") as lines:
        found = dict(line.split() for line in lines)
    return {name: int(found[name]) for name in COUNTERS}


def content(page: int, version: int, noise: bytes) -> bytes:
    """A page that compresses to a third: which it is, and then the same random bytes three times."""
    start = page * 1361 % (len(noise) - PAGE)
    third = noise[start : start + PAGE // 3]
    return (HEAD.pack(page, version) + third * 3)[:PAGE]


def main() -> None:
    """Fill, touch, check; report what was read from the device while touching."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--touches", type=int, required=True)
    parser.add_argument("--skew", type=float, default=1.0)
    parser.add_argument("--writes", type=float, default=0.2)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    noise = chance.randbytes(1 << 20)
    memory = mmap.mmap(-1, args.pages * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    versions = [0] * args.pages
    for page in range(args.pages):
        memory[page * PAGE : (page + 1) * PAGE] = content(page, 0, noise)
    order = list(range(args.pages))
    chance.shuffle(order)
    weights = list(accumulate(1 / (rank + 1) ** args.skew for rank in range(args.pages)))
    bad = 0
    before: dict[str, int] = {}
    for quarter in range(4):
        if quarter == 1:  # the first makes the order of age what the distribution wants
            before = counters()
        for page in chance.choices(order, cum_weights=weights, k=args.touches // 4):
            at = page * PAGE
            bad += memory[at : at + PAGE] != content(page, versions[page], noise)
            if chance.random() < args.writes:
                versions[page] += 1
                memory[at : at + PAGE] = content(page, versions[page], noise)
    seen = {name: value - before[name] for name, value in counters().items()}
    json.dump({"bad": bad, "touches": args.touches // 4 * 3, **seen}, sys.stdout)


main()
