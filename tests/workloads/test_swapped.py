# SPDX-License-Identifier: GPL-2.0
"""swapped and stopwatch, as far as a host that does not swap shows; the rest is tested in a guest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workloads.conftest import Program


def test_a_file_is_written_read_back_and_removed(programs: Path, run: Program, tmp_path: Path) -> None:
    target = tmp_path / "file"
    ran = run(programs / "swapped", "--mode", "file", "--file", str(target), "4M")
    found = ran.json()
    assert ran.code == 0 and found["verified"] is True and found["bytes"] == 4 << 20
    assert found["write_mb_s"] > 0 and found["read_mb_s"] > 0 and not target.exists()


def test_a_file_that_is_there_is_not_overwritten(programs: Path, run: Program, tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("mine")
    ran = run(programs / "swapped", "--mode", "file", "--file", str(target), "4M")
    assert ran.code == 1 and ran.json()["verified"] is False and "File exists" in ran.json()["failure"]
    assert target.read_text() == "mine"


def test_hold_may_leave_swapping_out_to_others(programs: Path, run: Program, tmp_path: Path) -> None:
    """Without --stay it would not end here: nothing is swapped out on a host without swap space."""
    ready, go = tmp_path / "ready", tmp_path / "go"
    go.touch()
    words = ["--mode", "hold", "--stay", "--ready-file", str(ready), "--wait-file", str(go), "4M"]
    ran = run(programs / "swapped", *words)
    found = ran.json()
    assert ran.code == 0 and found["verified"] is True and ready.is_file()
    assert found["check_seconds"] > 0 and "swapped_bytes" in found


@pytest.mark.parametrize(
    "words",
    [
        [], ["1M"], ["--mode", "nonsense", "1M"], ["--mode", "touch"], ["--mode", "touch", "1M", "2M"],
        ["--mode", "touch", "12"], ["--mode", "file", "1M"], ["--mode", "hold", "1M"],
        ["--mode", "touch", "--stay", "1M"],
        ["--mode", "touch", "--touches", "1", "1M"], ["--mode", "fork", "--repeat", "0", "1M"],
    ],
)  # fmt: skip
def test_usage(programs: Path, run: Program, words: list[str]) -> None:
    ran = run(programs / "swapped", *words)
    assert ran.code == 2 and ran.out == "" and ran.err.count("\n") == 1


@pytest.mark.parametrize("name", ["swapped", "stopwatch"])
def test_help(programs: Path, run: Program, name: str) -> None:
    ran = run(programs / name, "--help")
    assert ran.code == 0 and ran.out.startswith(f"Usage: {name}")


@pytest.mark.parametrize(
    ("script", "code", "signal", "returned"),
    [("exit 0", 0, 0, 0), ("exit 7", 7, 0, 7), ("kill -KILL $$", 0, 9, 137)],
)
def test_stopwatch_tells_how_it_ended(
    programs: Path, run: Program, tmp_path: Path, script: str, code: int, signal: int, returned: int
) -> None:
    out = tmp_path / "time.json"
    ran = run(programs / "stopwatch", f"--json={out}", "--", "sh", "-c", script)
    found = json.loads(out.read_text())
    assert ran.code == returned
    assert (found["exit_code"], found["signal"]) == (code, signal)


def test_stopwatch_counts_the_time_of_children(programs: Path, run: Program, tmp_path: Path) -> None:
    out = tmp_path / "time.json"
    loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.2"
    run(programs / "stopwatch", f"--json={out}", "--", "sh", "-c", f"sh -c '{loop}'; true")
    found = json.loads(out.read_text())
    assert found["user_seconds"] > 0.01
    assert found["seconds"] >= 0.2 and found["seconds"] > found["user_seconds"]


def test_stopwatch_and_a_program_that_is_not_there(programs: Path, run: Program, tmp_path: Path) -> None:
    out = tmp_path / "time.json"
    assert run(programs / "stopwatch", f"--json={out}", "--", "/nonexistent").code == 127
    assert json.loads(out.read_text())["exit_code"] == 127
    assert run(programs / "stopwatch", "true").code == 2
