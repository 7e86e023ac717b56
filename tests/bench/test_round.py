# SPDX-License-Identifier: GPL-2.0
"""A guest's end as an outcome: every way to fail is told, none is a figure."""

from typing import Any

import pytest

from tests.bench import fakes
from vswaplab.bench import counters, outcome, suites
from vswaplab.guest import GuestResult

USEMEM = suites.find("usemem1")


def test_a_good_round() -> None:
    found = outcome.of(USEMEM, fakes.ended(fakes.usemem_files()))
    assert found.status == "ok" and found.reason == ""
    assert found.metrics == {"throughput": 50.0, "free latency": 1000.0, "real": 2.0, "sys": 1.5}
    assert found.counters["zswpout"] == 100 and found.counters["allocstall"] == 5
    assert found.counters["cpu_system_s"] == 2.5
    assert found.wall_seconds == 4.0


@pytest.mark.parametrize(
    ("result", "status", "said"),
    [
        (fakes.ended({}, oom_kills=["usemem"]), "oom", "usemem"),
        (fakes.ended(fakes.usemem_files(), oom_kills=["sh"]), "oom", "sh"),
        (fakes.ended({}, exit_code=1, stderr="x\nwhy\n"), "failed", "why"),
        (fakes.ended({"failed": "no disk\n"}, exit_code=1), "failed", "no disk"),
        (fakes.ended({"failed": "no disk\n"}), "failed", "no disk"),
        (fakes.ended({"failed": "no disk\n"}, stderr="x\nENOENT\n\n"), "failed", "no disk: ENOENT"),
        (fakes.ended(fakes.usemem_files(), splats=["WARNING: here"]), "failed", "WARNING: here"),
        (GuestResult(status="panic", splats=["Kernel panic - not syncing"]), "panic", "Kernel panic"),
        (GuestResult(status="timeout"), "timeout", "in time"),
        (GuestResult(status="lost"), "lost", "lost"),
        (GuestResult(status="refused", error="no zram"), "failed", "no zram"),
    ],
)
def test_what_can_go_wrong(result: GuestResult, status: str, said: str) -> None:
    found = outcome.of(USEMEM, result)
    assert found.status == status and said in found.reason and found.metrics == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"out.json": {**fakes.USEMEM, "verified": False}},
        {"time.json": {**fakes.TIME, "exit_code": 1}},
        {"time.json": {**fakes.TIME, "signal": 9}},
        {"usemem.json": {"free_us": 3}},
        {"usemem.json": {**fakes.USEMEM, "free_us": "many"}},
        {"usemem.json": {**fakes.USEMEM, "throughput_kb_s": float("nan")}},
        {"usemem.json": []},
    ],
)
def test_a_result_that_is_no_result(changes: dict[str, Any]) -> None:
    found = outcome.of(USEMEM, fakes.ended(fakes.usemem_files(**changes)))
    assert found.status == "failed" and found.reason and found.metrics == {}


def test_counters_that_a_kernel_does_not_have_are_left_out() -> None:
    found = counters.grown({"before": "vmstat pswpin 1\n", "after": "vmstat pswpin 3\nvmstat swap_ra 2\n"})
    assert found == {"pswpin": 2}
    assert counters.grown({}) == {}
