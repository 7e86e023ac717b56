# SPDX-License-Identifier: GPL-2.0
"""Data races in a console recorded on the kcsan kernel: which are virtual swap's, and which only counted."""

from pathlib import Path

import pytest

from vswaplab.guest import races, splats

CONSOLE = (Path(__file__).parent / "consoles" / "kcsan-x86_64.txt").read_text()
TITLES = [
    "data-race in do_nanosleep / hrtimer_wakeup",
    "data-race in all_vm_events+0x98/0x115",
    "data-race in fix_fullness_group / get_zspage.isra.0",
]


def found(console: str) -> dict[str, bool]:
    """The titles of the races, and whether they are ours."""
    return {race.title: race.ours for race in races.find(console.splitlines()).values()}


def with_function(name: str, instead_of: str) -> str:
    """The console as if another function had been in one of the stacks."""
    frame = f"\n {instead_of}+0x"
    assert CONSOLE.count(frame) >= 1
    return CONSOLE.replace(frame, f"\n {name}+0x")


def test_all_of_them_are_others() -> None:
    """vswap_zswap_store() called what called zsmalloc, whose race it is."""
    assert " vswap_zswap_store+0x" in CONSOLE
    assert found(CONSOLE) == dict.fromkeys(TITLES, False)
    assert splats.find(CONSOLE) == []
    assert splats.other_races(CONSOLE) == dict.fromkeys(TITLES, 1)


@pytest.mark.parametrize(
    ("function", "title"),
    [
        ("fix_fullness_group", TITLES[2]),  # accessed the data, in the first stack
        ("zs_malloc", TITLES[2]),  # called what did
        ("zs_obj_write", TITLES[2]),  # the same in the second stack
        ("all_vm_events", TITLES[1]),  # the other access is not known
        ("do_nanosleep", TITLES[0]),
    ],
)
def test_near_the_access_it_is_ours(function: str, title: str) -> None:
    console = with_function("vswap_count_in", function)
    assert found(console) == {other: other == title for other in TITLES}
    assert splats.find(console) == [f"BUG: KCSAN: {title}"]
    assert set(splats.other_races(console)) == set(TITLES) - {title}


@pytest.mark.parametrize("function", ["zswap_compress", "hrtimer_interrupt", "common_nsleep"])
def test_farther_away_it_is_not(function: str) -> None:
    """The third function of a stack."""
    assert not any(found(with_function("vswap_count_in", function)).values())


def test_what_an_interrupt_interrupted_is_not_its_caller() -> None:
    between = (" __hrtimer", " hrtimer_interrupt", " __sysvec", " sysvec")
    console = "\n".join(line for line in CONSOLE.splitlines() if not line.startswith(between))
    console = console.replace(" delay_tsc+0x", " vswap_count_in+0x")
    assert found(console)[TITLES[0]] is False


def test_who_calls_what_reads_the_flags_of_its_task_does_not_count() -> None:
    for reader, ours in (("kthread_associate_blkcg", False), ("another", True)):
        console = with_function(reader, "fix_fullness_group").replace(
            "\n zs_malloc+0x", "\n vswap_submit_request+0x"
        )
        assert found(console)[TITLES[2]] is ours
    console = with_function("kthread_associate_blkcg", "zs_malloc").replace(" fix_fullness_group+", " vswap_land+")
    assert found(console)[TITLES[2]] is True


def test_a_report_that_is_cut_is_ours() -> None:
    lines = CONSOLE.splitlines()
    cut = lines[: len(lines) - 5]
    assert found("\n".join(cut))[TITLES[2]] is True
    assert splats.find("\n".join(cut)) == [f"BUG: KCSAN: {TITLES[2]}"]
