# SPDX-License-Identifier: GPL-2.0
"""Complaints of the kernel in recorded consoles: all found, and nothing else."""

from pathlib import Path

import pytest

from vswaplab.guest import GuestResult, splats

CONSOLES = Path(__file__).parent / "consoles"
# Lines of complaints.txt that only explain a complaint.
EXPLANATIONS = (
    "Linux version", "------------[ cut", "Modules linked", "====", "7.3.4-vswap", "mm/swap_state.c:77 suspicious",
    "in_atomic()", "Read of size",
)  # fmt: skip


def console(name: str) -> str:
    return (CONSOLES / f"{name}.txt").read_text()


def complaints() -> list[str]:
    """The lines of complaints.txt that each are a complaint of their own."""
    lines = [splats.without_stamp(line) for line in console("complaints").splitlines()]
    return [line for line in lines if not line.startswith(EXPLANATIONS)]


@pytest.mark.parametrize("line", complaints())
def test_each_complaint_alone_is_found(line: str) -> None:
    stamped = f"[   12.345678] {line}\n"
    assert splats.find(stamped) == [line]
    assert splats.find(line) == [line]


def test_all_complaints_in_order() -> None:
    assert [line for line in splats.find(console("complaints")) if line in complaints()] == complaints()
    assert len(complaints()) == 33


@pytest.mark.parametrize(
    "name", ["clean-um-release", "clean-um-debug-faults", "oom-um", "clean-x86_64-release", "oom-memcg-um-debug"]
)
def test_real_logs_without_a_complaint(name: str) -> None:
    assert splats.find(console(name)) == []
    assert not splats.panicked(console(name))


def test_a_real_panic() -> None:
    assert splats.panicked(console("panic-sysrq"))
    assert splats.find(console("panic-sysrq")) == ["Kernel panic - not syncing: sysrq triggered crash"]


@pytest.mark.parametrize(
    ("name", "killed"),
    [
        ("oom-um", ["swapcheck"]),
        ("oom-memcg-um-debug", ["python3"]),
        ("clean-um-release", []),
    ],
)
def test_oom_kills(name: str, killed: list[str]) -> None:
    assert splats.oom_kills(console(name)) == killed


def test_oom_kill_of_a_name_with_parentheses() -> None:
    line = "[ 9.0] Out of memory (oom_kill_allocating_task): Killed process 7 ((sd-pam)) total-vm:1kB\n"
    assert splats.oom_kills(line) == ["(sd-pam)"]


def test_a_victims_last_allocation_belongs_to_its_kill() -> None:
    failure = ": page allocation failure: order:0, mode:0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), nodemask=(null)"
    kill = "Out of memory: Killed process 33 (swapcheck) total-vm:525536kB\n"
    assert splats.find(f"{kill}swapcheck{failure}\n") == []
    assert splats.find(f"swapcheck{failure}\n") == [f"swapcheck{failure}"]
    assert splats.find(f"{kill}kswapd0{failure}\n") == [f"kswapd0{failure}"]


def test_what_is_quoted_of_a_console() -> None:
    """What follows a complaint, once for all of its kind; not what comes before, not stale frames."""
    stack = "".join(f" [<6004f{n:03}>] frame_{n}+0x3/0x4\n [<60361f1b>] ? stale_{n}+0x0/0x71\n" for n in range(90))
    lockups = "".join(f"BUG: workqueue lockup - pool cpus={n} stuck for {40 + n}s!\n" for n in range(3))
    log = f"[ 1.0] booted\n{lockups}" + stack + "[ 2.0] WARNING: inconsistent lock state\nlast\n"
    text = splats.excerpts(log, splats.find(log))
    lines = text.splitlines()
    assert lines[:4] == ["...", *lockups.splitlines()]
    assert lines[-3:] == ["...", "WARNING: inconsistent lock state", "last"]
    assert len(lines) == 2 + splats.QUOTED_LINES + 2
    assert "frame_41" in text and "frame_42" not in text and "stale" not in text and "booted" not in text
    assert splats.excerpts("[ 1.0] booted\n", []) == ""
    assert text in GuestResult(console=log, splats=splats.find(log)).account


def test_a_processor_that_is_stopped_for_a_restart() -> None:
    """It is woken once more; at any other time, and of anything else, that is a complaint."""
    woken = "sched: Unexpected reschedule of offline CPU#2!\n"
    warning = "WARNING: arch/x86/kernel/apic/ipi.c:71 at native_smp_send_reschedule+0x17/0x2f, CPU#1: rcuc/1/26"
    restart = "reboot: machine restart\n"
    assert splats.find(restart + woken + warning) == []
    assert splats.find(woken + warning + "\n" + restart) == splats.find(restart + warning) == [warning]


def test_a_complaint_is_reported_once_and_the_list_is_bounded() -> None:
    assert splats.find("WARNING: a at b\nWARNING: a at b\n") == ["WARNING: a at b"]
    flood = "".join(f"WARNING: number {n}\n" for n in range(1000))
    assert len(splats.find(flood)) == splats.MAX_SPLATS


@pytest.mark.parametrize(
    "line",
    [
        "RETBleed: WARNING: Spectre v2 mitigation leaves CPU vulnerable to RETBleed attacks!",
        "rcu: \tRCU lockdep checking is enabled.",
        "Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
        "kmemleak: Kernel memory leak detector initialized (mem pool available: 39779)",
        "swapcheck[43]: segfault at 7f7fffb49968 ip 000000000048b3b3 sp 00007f7fffb49938 error 0",
        "swapcheck invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0",
        "FAULT_INJECTION: forcing a failure.",
        "page_owner is disabled",
        "INFO: lots of memory",
    ],
)
def test_harmless_lines(line: str) -> None:
    assert splats.find(f"[    1.000000] {line}\n") == []


def test_leaks() -> None:
    first, second = splats.find_leaks(console("kmemleak"))
    assert first == (
        "kmemleak: unreferenced object 0xffff888003c4f000 (size 64), allocated in kmem_cache_alloc_noprof"
        " < zswap_store < swap_writeout < shrink_folio_list < evict_folios"
    )
    assert second.endswith("(size 4096), allocated in kmemleak_alloc < vswap_reserve_fill")
    bare = console("kmemleak").partition("  backtrace")[0]
    assert splats.find_leaks(bare)[0].endswith("allocated in an unknown place by swapcheck")
    assert splats.find_leaks("") == []
