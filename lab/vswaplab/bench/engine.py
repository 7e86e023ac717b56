# SPDX-License-Identifier: GPL-2.0
"""Runs a plan: every turn that is not finished yet, in order, told to whoever watches."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from vswaplab.bench import round
from vswaplab.bench.case import Turn
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.plan import Plan
from vswaplab.bench.state import State
from vswaplab.guest import GuestResult, GuestSpec

GIVE_UP = 2  # failed rounds of a kernel in a case, after which the others are taken to fail as well
_NOT_RUN = "not run again after: "

Boot = Callable[[GuestSpec], GuestResult]


class Watcher(Protocol):
    """Told what runs."""

    def starts(self, turn: Turn, done: int, total: int, left: float | None) -> None:
        """A turn begins; ``left`` is the seconds that all turns from this one on may take."""
        ...

    def ended(self, turn: Turn, outcome: Outcome) -> None:
        """It is over."""
        ...


def time_left(turns: Sequence[Turn], finished: Mapping[str, Outcome]) -> float | None:
    """Seconds that the unfinished turns may take: what others of their case took, else of their suite.

    None as long as nothing is finished.
    """
    seconds: dict[object, list[float]] = {}
    for turn in turns:
        if outcome := finished.get(turn.key):
            for kind in (turn.case, turn.case.suite, None):
                seconds.setdefault(kind, []).append(outcome.wall_seconds)
    if not seconds:
        return None
    total = 0.0
    for turn in turns:
        if turn.key not in finished:
            known = next(seconds[kind] for kind in (turn.case, turn.case.suite, None) if kind in seconds)
            total += sum(known) / len(known)
    return total


def given_up(turn: Turn, finished: Mapping[str, Outcome]) -> Outcome | None:
    """The outcome of a turn that is not worth its time: its kernel has failed GIVE_UP rounds of the case.

    A guest that hangs costs its suite's whole time limit, every round anew.
    """
    before = [replace(turn, round=number).key for number in range(turn.round)]
    failed = [finished[key] for key in before if key in finished and finished[key].status != "ok"]
    if len(failed) < GIVE_UP:
        return None
    reason = failed[-1].reason.removeprefix(_NOT_RUN)
    return Outcome(failed[-1].status, f"{_NOT_RUN}{reason}")


def run(plan: Plan, state: State, boot: Boot, watcher: Watcher) -> dict[Turn, Outcome]:
    """Run what is not finished; each round is kept as soon as it is over."""
    turns = plan.turns()
    for done, turn in enumerate(turns):
        if turn.key in state.finished:
            continue
        if hopeless := given_up(turn, state.finished):
            state.add(turn, hopeless)
            watcher.ended(turn, hopeless)
            continue
        watcher.starts(turn, done, len(turns), time_left(turns, state.finished))
        start = time.monotonic()
        found = round.run(turn.case, plan.kernel(turn), plan.options, plan.programs, boot)
        if not found.wall_seconds:
            found = Outcome(**{**found.to_json(), "wall_seconds": time.monotonic() - start})
        state.add(turn, found)
        watcher.ended(turn, found)
    return {turn: state.finished[turn.key] for turn in turns}
