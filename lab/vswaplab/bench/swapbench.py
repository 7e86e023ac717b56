# SPDX-License-Identifier: GPL-2.0
"""The in-kernel benchmark as suites use it: shell text to run it, figures out of what it wrote.

kernel-bench/mm/swap_bench/main.c has the files and what the phases are. Kernels of the flavour "bench"
have it.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from vswaplab.bench.suite import Unverified
from vswaplab.guest import parse_swap

RESULT = "swap_bench"  # the file in $RESULTS
WARM_UP = 1  # rounds at the start that do not count: tables and host memory are touched first in them

PHASES = ("alloc", "map", "store", "evict", "dup", "put", "free", "load", "release", "compress")

# run LINE: have the benchmark do what the line says, and keep what it measured.
PRELUDE = f"""
BENCH=/sys/kernel/debug/swap_bench
[ -d $BENCH ] || fail "the kernel has no swap_bench"
run() {{ echo "$1" > $BENCH/run 2>/dev/null || fail "swap_bench, $1: $(cat $BENCH/result)"
  cat $BENCH/result >> $RESULTS/{RESULT}; }}
"""

Measured = Mapping[tuple[str, str], float]


def in_ram(swap: str, size: int) -> str:
    """The swap device of a set-up, of ``size`` bytes: zram, or for a disk one that costs next to nothing."""
    kind = parse_swap(swap).kind
    return "none" if kind == "none" else f"{'zram' if kind == 'zram' else 'ram'}:{size}"


def objects(files: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the benchmark wrote. Raises Unverified if it wrote nothing, or that something failed."""
    found = [json.loads(line) for line in files.get(RESULT, "").splitlines()]
    if not found:
        raise Unverified("swap_bench left no result")
    for entry in found:
        if "error" in entry:
            raise Unverified(f"swap_bench: {entry['error']}")
    return found


def per_page(files: Mapping[str, str], clock: str) -> Measured:
    """What a page took, by operation and phase, in units of ``clock`` ("ns", "cycles").

    Of all CPUs the mean, of all rounds but WARM_UP the median. Raises Unverified when there is
    nothing to be had of a phase, or the clock stood still.
    """
    rounds: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for entry in objects(files):
        if entry.get("round", -1) >= WARM_UP:
            value = entry[clock] / entry["pages"]
            rounds[entry["op"], entry["phase"]][entry["round"]].append(value)
    if not rounds:
        raise Unverified("swap_bench measured no round")
    if not any(sum(values) for values in rounds["swap", "load"].values()):
        raise Unverified(f"this machine does not count {clock}")
    return {
        key: statistics.median(statistics.fmean(values) for values in found.values())
        for key, found in rounds.items()
    }
