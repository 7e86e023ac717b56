# SPDX-License-Identifier: GPL-2.0
"""For some seconds, workers swap and verify while the disturbers that are named act; then everything is counted.

Writes one JSON object into the file --output.
"""

import argparse
import ctypes
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from vswaplab.guestprograms.stress import crowd, devices, fuzz, groups, knobs, machine
from vswaplab.guestprograms.stress.disturber import VM, VSWAP, Disturber, write

_Make = Callable[[random.Random, int], Sequence[Disturber]]
DISTURBERS: dict[str, _Make] = {
    "knobs": knobs.knobs,
    "swapoff": lambda rng, memory: [devices.Swapoff(rng, memory)],
    "groups": lambda rng, memory: [kind(rng, memory) for kind in (groups.Limits, groups.Reclaim, groups.Moves)],
    "deaths": lambda rng, memory: [crowd.Deaths(rng, memory)],
    "oom": lambda rng, memory: [crowd.OutOfMemory(rng, memory)],
    "cpus": lambda rng, memory: [machine.Cpus(rng, memory)],
    "memory": lambda rng, memory: [machine.Memory(rng, memory)],
    "allocations": lambda rng, memory: [devices.SlabFails(rng, memory), devices.PagesFail(rng, memory)],
    "requests": lambda rng, memory: [devices.RequestsFail(rng, memory)],
    "folios": lambda rng, memory: [knobs.HugePages(rng, memory)],
    "fuzz": lambda rng, memory: [fuzz.BadInputs(rng, memory)],
}
GRACE = 240.0  # seconds, for workers to end without disturbance
SETTLE = 10.0
FILES_KB = 512  # of the guest's tmpfs, which may be in swap
MCL_CURRENT, MCL_FUTURE = 1, 2


def left_kb() -> int:
    """What is in virtual slots and belongs to no living process: 0 unless something leaked."""
    used = VSWAP / "slots_used"
    if not used.exists():
        return 0
    own = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        own += sum(int(line.split()[1]) for line in lines if line.startswith("VmSwap:"))
    return max(0, int(used.read_text()) * 4 - own - FILES_KB)


def settled() -> int:
    """left_kb(), after what was freed a moment ago has gone; locked pages go with the next reclaim."""
    until = time.monotonic() + SETTLE
    while left_kb() and time.monotonic() < until:
        write(VM / "drop_caches", 3)
        for path in Path("/sys/fs/cgroup").glob("**/memory.reclaim"):
            write(path, "64M")
        time.sleep(0.5)
    return left_kb()


def disturb(chosen: Sequence[Disturber], workers: crowd.Crowd, rng: random.Random, seconds: float) -> None:
    """Until the time is over."""
    until = time.monotonic() + seconds
    due = [time.monotonic() + rng.expovariate(1 / disturber.pause) for disturber in chosen]
    while (now := time.monotonic()) < until:
        workers.keep()
        for index, disturber in enumerate(chosen):
            if now >= due[index]:
                disturber.step()
                due[index] = time.monotonic() + rng.expovariate(1 / disturber.pause)
        time.sleep(0.02)


def main(arguments: Sequence[str]) -> int:
    """Do it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("disturbers", nargs="*", metavar="DISTURBER", help=", ".join(DISTURBERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--memory", type=int, required=True, help="the guest's, in MB")
    parser.add_argument("--data", type=int, required=True, help="of all workers together, in MB")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(arguments)

    # What acts must not be swapped itself, nor be chosen by the OOM killer.
    ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE)
    rng = random.Random(f"{args.disturbers} {args.seed}")
    groups.make()
    made = [one for name in args.disturbers for one in DISTURBERS[name](rng, args.memory)]
    chosen = [one for one in made if one.possible()]
    scratch = Path("/run")
    workers = crowd.Crowd(rng, args.workers, args.data, scratch, injected="allocations" in args.disturbers)
    try:
        disturb(chosen, workers, rng, args.seconds)
    finally:
        for disturber in chosen:
            disturber.undo()
    ended = workers.end(GRACE)
    result = {
        "checks": workers.checks,
        "mismatches": workers.mismatches,
        "ends": dict(workers.ends),
        "all_ended": ended,
        "notes": workers.notes,
        "left_kb": settled(),
        "done": {name: sum(one.done[name] for one in chosen) for one in chosen for name in one.done},
    }
    args.output.write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
