# SPDX-License-Identifier: GPL-2.0
"""Suites that others wrote: what their programs come to on mainline, with a swap file, and with virtual swap."""

import re
from collections.abc import Callable, Mapping

import pytest

from tests.e2e.common import NoteOutcomes

Outcome = dict[str, dict[str, str]]  # by program and test: "ok", "not ok" or "skip"
Known = Mapping[str, tuple[str, str]]  # by program: which tests fail on mainline as well, and why

# The mode and the swap device of virtual swap.
IN_EACH_SETUP = pytest.mark.parametrize(
    ("mode", "swap"), [("auto", "none"), ("auto", "file:512M"), ("always", "file:512M")], ids=str
)


def passed(found: Outcome) -> set[str]:
    """The tests that are "ok", with their programs."""
    return {f"{name}: {test}" for name, tests in found.items() for test, was in tests.items() if was == "ok"}


def failed(found: Outcome, known: Known) -> dict[str, str]:
    """The tests that are "not ok", with their programs, and why."""
    return {
        f"{name}: {test}": known[name][1] if name in known and re.search(known[name][0], test) else ""
        for name, tests in found.items()
        for test, was in tests.items()
        if was == "not ok"
    }


def lost(before: Outcome, after: Outcome) -> dict[str, list[str]]:
    """The tests that pass before and not after, by program."""
    return {
        name: missing
        for name in after
        if (missing := [test for test, was in before[name].items() if was == "ok" != after[name].get(test)])
    }


def compare(
    suite: str,
    outcome: Callable[..., Outcome],
    mainline: Outcome,
    note_outcomes: NoteOutcomes,
    mode: str,
    swap: str,
    known: Known,
) -> None:
    """What passes on mainline has to pass in this set-up; a program that fails gets a second turn.

    outcome(kernel, mode, swap, programs) is the result of one guest, of all programs or of some.
    """
    found = outcome("vswap", mode, swap)
    if missing := lost(mainline, found):
        for name, tests in outcome("vswap", mode, swap, tuple(missing)).items():
            found[name] |= {test: was for test, was in tests.items() if was == "ok"}
    why = failed(mainline, known)
    note_outcomes(suite, f"{mode}, {swap}", passed(mainline), passed(found), why.keys(), why)
    assert not lost(mainline, found)
