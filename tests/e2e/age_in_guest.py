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


def counter(name: str) -> int:
    """One line of /proc/vmstat."""
    with open("/proc/vmstat") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def content(page: int, version: int, noise: bytes) -> bytes:
    """A page that compresses to a third: random bytes, its own from the third on repeated."""
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
    marks = {}
    for quarter in range(4):
        marks[quarter] = {name: counter(name) for name in ("pswpin", "zswpin", "zswpwb", "pswpout")}
        for page in chance.choices(order, cum_weights=weights, k=args.touches // 4):
            at = page * PAGE
            bad += memory[at : at + PAGE] != content(page, versions[page], noise)
            if chance.random() < args.writes:
                versions[page] += 1
                memory[at : at + PAGE] = content(page, versions[page], noise)
    end = {name: counter(name) for name in marks[0]}
    # The first quarter makes the order of age what the distribution wants.
    seen = {name: end[name] - marks[1][name] for name in end}
    json.dump({"bad": bad, "touches": args.touches // 4 * 3, **seen}, sys.stdout)


main()
