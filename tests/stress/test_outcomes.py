# SPDX-License-Identifier: GPL-2.0
"""What suites of others come to, without guests: compared with mainline, and kept in suites.json."""

from collections.abc import Mapping, Set
from pathlib import Path

import pytest

from tests.e2e import thirdparty
from tests.e2e.thirdparty import Outcome
from vswaplab.errors import UsageError
from vswaplab.stress import outcomes

MAINLINE: Outcome = {"a": {"1": "ok", "2": "ok", "3": "not ok"}, "b": {"4": "not ok", "5": "skip"}}
KNOWN = {"a": ("3", "is slow")}


def compared(first: Outcome, second: Outcome) -> list[tuple[object, ...]]:
    """What is noted when a first guest comes to one thing, and a second, of some programs, to another."""
    turns = iter((first, second))
    noted: list[tuple[object, ...]] = []

    def outcome(kernel: str, mode: str, swap: str, programs: tuple[str, ...] = ()) -> Outcome:
        assert (kernel, mode, swap) == ("vswap", "auto", "none")
        found = next(turns)
        return {name: found[name] for name in programs or found}

    def note(
        suite: str, setup: str, mainline: Set[str], ours: Set[str], failed: Set[str], why: Mapping[str, str]
    ) -> None:
        noted.append((suite, setup, sorted(mainline), sorted(ours), sorted(failed), dict(why)))

    try:
        thirdparty.compare("a suite", outcome, MAINLINE, note, "auto", "none", KNOWN)
    except AssertionError:
        noted.append(("lost",))
    return noted


def test_what_fails_on_mainline_is_noted_with_its_reason() -> None:
    ours: Outcome = {"a": {"1": "ok", "2": "not ok", "3": "ok"}, "b": {"4": "ok", "5": "skip"}}
    again: Outcome = {"a": {"1": "not ok", "2": "ok", "3": "not ok"}}
    mainline, both = ["a: 1", "a: 2"], ["a: 1", "a: 2", "a: 3", "b: 4"]
    why = {"a: 3": "is slow", "b: 4": ""}
    assert compared(ours, again) == [("a suite", "auto, none", mainline, both, ["a: 3", "b: 4"], why)]


def test_what_is_lost_twice_is_lost() -> None:
    ours: Outcome = {"a": {"1": "ok", "3": "not ok"}, "b": {"4": "not ok"}}
    assert [found[0] for found in compared(ours, ours)] == ["a suite", "lost"]


def test_a_newer_result_takes_the_place_of_the_older(tmp_path: Path) -> None:
    file = tmp_path / "suites.json"
    old = outcomes.Outcome("mm", "auto, none", 3, 2, 0, {"a": ""}, "0123456789ab", "2026-11-23", {"b": "is slow"})
    new = outcomes.Outcome("mm", "auto, none", 3, 3, 0, {}, "0123456789ab", "2026-11-24", {"b": "is slow"})
    outcomes.add(file, old)
    outcomes.add(file, new)
    assert outcomes.read(file) == [new]
    file.write_text('[{"tests": "e2e"}]')
    with pytest.raises(UsageError, match="no list of outcomes"):
        outcomes.read(file)


def test_a_suite_is_summed_and_reasons_are_given_once() -> None:
    rows = [
        outcomes.Outcome("mm", setup, 900, both, 0, lost, "0123456789ab", date, {"b": "is slow"})
        for setup, both, lost, date in (
            ("auto, none", 900, {}, "2026-11-23"),
            ("never, none", 899, {"a": ""}, "2026-11-24"),
        )
    ]
    assert outcomes.summed(rows) == ("mm: 1,799 of 1,800 in 2 set-ups", 1, "0123456789ab", "2026-11-24")
    assert outcomes.summed(rows[:1])[0] == "mm: 900 of 900 in 1 set-up"
    assert outcomes.reasons(rows) == [("mm", "b", "is slow")]
