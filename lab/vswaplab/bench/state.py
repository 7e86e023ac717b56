# SPDX-License-Identifier: GPL-2.0
"""Finished rounds, one line each, so that an interrupted run goes on where it was."""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from vswaplab import paths
from vswaplab.bench.case import Turn
from vswaplab.bench.outcome import Outcome
from vswaplab.errors import UsageError


class State:
    """The rounds of one plan; ``finished`` is what an earlier run left."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / "rounds.jsonl"
        self.finished: dict[str, Outcome] = {}
        for line in self._file.read_text().splitlines() if self._file.is_file() else []:
            # The last line may be cut short by what interrupted the run.
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                self.finished[entry["turn"]] = Outcome(**entry["outcome"])

    def add(self, turn: Turn, outcome: Outcome) -> None:
        """Keep a round."""
        self._directory.mkdir(parents=True, exist_ok=True)
        fresh = self._file.is_file() and not self._file.read_bytes().endswith(b"\n")
        with self._file.open("a") as stream:
            stream.write("\n" if fresh else "")
            stream.write(json.dumps({"turn": turn.key, "outcome": outcome.to_json()}) + "\n")
            stream.flush()
        self.finished[turn.key] = outcome

    def forget(self) -> None:
        """Start again from nothing."""
        shutil.rmtree(self._directory, ignore_errors=True)
        self.finished = {}


@contextlib.contextmanager
def opened(identity: str, *, fresh: bool = False) -> Iterator[State]:
    """The state of a plan, for one run at a time. Raises UsageError when another one runs it."""
    directory = paths.cache_dir() / "bench" / "unfinished" / identity
    lock = directory.with_name(f".{identity}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError("the same benchmark is already running") from error
        state = State(directory)
        if fresh:
            state.forget()
        try:
            yield state
        finally:
            if not directory.is_dir():
                lock.unlink(missing_ok=True)


def outcomes(finished: Mapping[str, Outcome], turns: Iterator[Turn]) -> dict[Turn, Outcome]:
    """The rounds of a plan that are finished."""
    return {turn: finished[turn.key] for turn in turns if turn.key in finished}
