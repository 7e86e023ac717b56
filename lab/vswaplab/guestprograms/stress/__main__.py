# SPDX-License-Identifier: GPL-2.0
"""For some seconds, workers swap and verify while the disturbers that are named act; then everything is counted.

Writes one JSON object into the file --output.
"""

import argparse
import ctypes
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vswaplab.guestprograms.stress import crowd, devices, fuzz, groups, knobs, machine
from vswaplab.guestprograms.stress.disturber import CGROUP, VM, VSWAP, Disturber, write

DISTURBERS: dict[str, Sequence[type[Disturber]]] = {
    "knobs": knobs.KNOBS,
    "swapoff": [devices.Swapoff],
    "groups": [groups.Limits, groups.Reclaim, groups.Moves],
    "reclaim": [groups.Reclaim, groups.Moves],
    "deaths": [crowd.Deaths],
    "oom": [crowd.OutOfMemory],
    "cpus": [machine.Cpus],
    "memory": [machine.Memory],
    "allocations": [devices.SlabFails, devices.PagesFail],
    "requests": [devices.RequestsFail],
    "folios": [knobs.HugePages],
    "fuzz": [fuzz.BadInputs],
}
GRACE = 240.0  # seconds, for workers to end without disturbance
SETTLE = 10.0
MCL_CURRENT, MCL_FUTURE = 1, 2


def swapped() -> Counter[str]:
    """Pages that were swapped out and in since boot, wherever they went."""
    lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    stat = {name: int(value) for name, value in lines}
    names = {"out": ("zswpout", "pswpout", "swpout_zero"), "in": ("zswpin", "pswpin", "swpin_zero")}
    return Counter({way: sum(stat.get(name, 0) for name in parts) for way, parts in names.items()})


def left_kb() -> int:
    """What virtual slots have that is neither a living process's nor cached: 0 unless something leaked."""
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
    lines = Path("/proc/vmstat").read_text().splitlines()
    own += sum(4 * int(line.split()[1]) for line in lines if line.startswith("nr_swapcached "))
    return max(0, int(used.read_text()) * 4 - own)


def settled() -> int:
    """left_kb(), after what was freed a moment ago has gone; locked pages go with the next reclaim."""
    until = time.monotonic() + SETTLE
    while left_kb() and time.monotonic() < until:
        write(VM / "drop_caches", 3)
        for path in CGROUP.glob("**/memory.reclaim"):
            write(path, "64M")
        time.sleep(0.5)
    return left_kb()


class Acting(threading.Thread):
    """A disturber at work. What it runs into is kept in ``error``."""

    def __init__(self, disturber: Disturber, seed: str) -> None:
        super().__init__(daemon=True)
        self._disturber, self._rng = disturber, random.Random(seed)
        self._over = threading.Event()
        self.error = ""

    def run(self) -> None:
        """One step after the other, until end()."""
        while not self._over.wait(self._rng.expovariate(1 / self._disturber.pause)):
            try:
                self._disturber.step()
            except Exception as error:  # noqa: BLE001 (whatever it is, the trial has failed)
                self.error = f"{type(self._disturber).__name__}: {error!r}"
                return

    def end(self) -> None:
        """No further step."""
        self._over.set()


def disturbed(chosen: Sequence[Disturber], workers: crowd.Crowd, seed: int, seconds: float) -> list[str]:
    """Let them act until the time is over; what went wrong."""
    acting = [Acting(disturber, f"{index} {seed}") for index, disturber in enumerate(chosen)]
    for thread in acting:
        thread.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        workers.keep()
        time.sleep(0.05)
    for thread in acting:
        thread.end()
    errors = []
    for thread in acting:
        thread.join(GRACE)
        errors += [thread.error] if thread.error else []
        errors += [f"{thread} does not come back"] if thread.is_alive() else []
    for disturber in chosen:
        disturber.undo()
    return errors


def main(arguments: Sequence[str]) -> int:
    """Do it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("disturbers", nargs="*", metavar="DISTURBER", help=", ".join(DISTURBERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--memory", type=int, required=True, help="the guest's, in MB")
    parser.add_argument("--data", type=int, required=True, help="of all workers together, in MB")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--reads", type=float, default=0.0, help="percent of steps that only verify")
    parser.add_argument("--grace", type=float, default=GRACE, help="seconds in which workers must end")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(arguments)

    # What acts must not be swapped itself, nor be chosen by the OOM killer. Stacks of threads are locked as well.
    threading.stack_size(512 << 10)
    if ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE):
        raise OSError("this program cannot be locked in memory")
    Path("/proc/self/oom_score_adj").write_text("-1000")
    groups.make()
    kinds = [kind for name in args.disturbers for kind in DISTURBERS[name]]
    made = [kind(random.Random(f"{kind.__name__} {args.seed}"), args.memory) for kind in kinds]
    chosen = [one for one in made if one.possible()]
    where = [*groups.WORKERS, *(one.group for one in chosen if isinstance(one, fuzz.BadInputs))]
    injected = "allocations" in args.disturbers
    # A slow kernel has time for few workers: those of one seed are to differ from trial to trial.
    rng = random.Random(f"workers {args.seed} {args.disturbers}")
    workers = crowd.Crowd(rng, args.workers, args.data, where, injected=injected, reads=args.reads)
    before = swapped()
    errors = disturbed(chosen, workers, args.seed, args.seconds)
    ended = workers.end(args.grace)
    pages = swapped() - before
    result = {
        "checks": workers.checks,
        "mismatches": workers.mismatches + sum(one.mismatches for one in chosen),
        "swapped_out": pages["out"],
        "swapped_in": pages["in"],
        "ends": dict(workers.ends),
        "all_ended": ended,
        "errors": errors,
        "notes": workers.notes,
        "left_kb": settled(),
        "done": dict(sum((one.done for one in chosen), Counter[str]())),
    }
    args.output.write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
