# SPDX-License-Identifier: GPL-2.0
"""Boots one guest after the other, until the time is over, and records each."""

import datetime
import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vswaplab import paths
from vswaplab.build import workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec, boot
from vswaplab.stress.record import Record, problems
from vswaplab.stress.trial import Trial

_SLOW = {"um": 4.0, "x86_64": 10.0}  # how much longer than planned a guest may take, at most
_LEFT = 240.0  # seconds that all guests get for the end
# The workers' data, in MB, where a kernel swaps only some hundred pages a second
_LITTLE = {("x86_64", "debug"): 24}
# Seconds in which the workers that are left must end
_GRACE = {"release": 240}
_GRACE_CHECKED = 900
# What the checkers of a kernel take from its guest, in bytes: KASAN's shadow, kmemleak's objects
_CHECKERS = {("x86_64", "debug"): 96 << 20}

Boot = Callable[[GuestSpec], GuestResult]


def spec(trial: Trial, kernel: BuiltKernel, seed: int, seconds: float) -> GuestSpec:
    """The guest of a trial that goes on for so many seconds."""
    fields = trial.guest(seed, kernel.arch, kernel.flavour)
    megabytes = fields["mem_bytes"] >> 20
    fields["mem_bytes"] += _CHECKERS.get((kernel.arch, kernel.flavour), 0)
    data = min(int(megabytes * trial.share), _LITTLE.get((kernel.arch, kernel.flavour), megabytes))
    grace = _GRACE.get(kernel.flavour, _GRACE_CHECKED)
    argv = [
        "python3", "-B", "-m", "vswaplab.guestprograms.stress", *trial.disturbers, "--seed", str(seed),
        "--seconds", str(seconds), "--reads", str(trial.reads), "--memory", str(megabytes), "--data", str(data),
        "--grace", str(grace), "--output",
    ]  # fmt: skip
    lab = shlex.quote(str(paths.repo_root() / "lab"))
    path = shlex.quote(str(workloads.build()))
    script = f'export PATH={path}:$PATH PYTHONPATH={lab}\nexec {shlex.join(argv)} "$RESULTS/answer.json"\n'
    timeout = seconds * _SLOW[kernel.arch] + grace + _LEFT
    return GuestSpec(kernel=kernel, script=script, timeout=timeout, leak_pause=0, **fields)


def judge(trial: Trial, result: GuestResult) -> tuple[dict[str, Any], list[str]]:
    """What the guest's program answered, and what is wrong with the guest."""
    wrong = [splat for splat in result.splats if not any(text in splat for text in trial.expected)]
    if result.status != "ok":
        wrong.append(f"the guest ended with {result.status}: {result.error or ''}")
    if result.verify_violations:
        wrong.append(f"{result.verify_violations} invariants are violated")
    if result.swapoff_error:
        wrong.append(f"swapoff at the end: {result.swapoff_error}")
    try:
        answer = json.loads(result.files.get("answer.json", ""))
    except ValueError:
        return {}, [*wrong, "the guest's program gave no answer"]
    return answer, wrong + problems(trial.killed, bool(trial.disturbers), answer)


def one(
    trial: Trial, kernel: BuiltKernel, checksum: str, seed: int, seconds: float, *, boot: Boot = boot
) -> tuple[Record, GuestResult]:
    """Boot it and record what came of it."""
    now = datetime.datetime.now(datetime.UTC)
    result = boot(spec(trial, kernel, seed, seconds))
    answer, wrong = judge(trial, result)
    record = Record(
        trial=trial.name, seed=seed, arch=kernel.arch, flavour=kernel.flavour, kernel=checksum[:12],
        date=now.isoformat(timespec="seconds"), seconds=round(result.seconds or 0.0, 1),
        checks=answer.get("checks", 0), swapped_out=answer.get("swapped_out", 0),
        swapped_in=answer.get("swapped_in", 0), ends=answer.get("ends", {}), done=answer.get("done", {}),
        problems=tuple(wrong), races=result.other_races,
    )  # fmt: skip
    return record, result


def turns(
    trials: Sequence[Trial], kernels: Sequence[BuiltKernel], seed: int, until: float, *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[Trial, BuiltKernel, int]]:  # fmt: skip
    """Each trial on each kernel, with one seed more from turn to turn, until clock() says ``until``.

    Each is given at least once; what does not fit together is left out.
    """
    fitting = [(t, k) for t in trials for k in kernels if t.fits(k.arch, k.flavour)]
    first = True
    while fitting:
        for trial, kernel in fitting:
            if not first and clock() >= until:
                return
            yield trial, kernel, seed
        first = False
        seed += 1
