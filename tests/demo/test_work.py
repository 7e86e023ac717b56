# SPDX-License-Identifier: GPL-2.0
"""The script of a demonstration, run on the host with programs that do next to nothing."""

import json
import subprocess
from pathlib import Path

import pytest

from vswaplab.demo import work
from vswaplab.guest import GuestResult
from vswaplab.run.demo import RESULT, Program
from vswaplab.run.report import Verdict

SWAPCHECK = {"verified": True, "bytes": 5, "modes": [{"seconds": {"fill": 0.0, "verify": 0.0}}]}


def fake(title: str, answer: object, code: int = 0) -> Program:
    """A program that writes its result and ends."""
    text = f"echo '{json.dumps(answer)}' >$RESULTS/{RESULT}; exit {code}\n" if answer else f"exit {code}\n"
    return Program(title, lambda _mem: text, lambda _result: Verdict(0, None))


def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *programs: Program) -> tuple[Program, GuestResult]:
    """All of them as one, and what a guest would have sent of its run."""
    monkeypatch.setattr(work, "PAUSE", 0)
    whole = work.program(programs, "all", False)
    results = tmp_path / "results"
    results.mkdir()
    done = subprocess.run(
        ["sh", "-c", whole.script(1 << 28)], env={"RESULTS": str(results), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    files = {path.name: path.read_text() for path in results.iterdir()}
    return whole, GuestResult(status="ok", exit_code=done.returncode, stdout=done.stdout, files=files)


def test_phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redis = {"verified": True, "bytes": 7, "load_seconds": 0.0, "check_seconds": 0.0}
    whole, result = ran(tmp_path, monkeypatch, fake("swapcheck", SWAPCHECK), fake("redis-server", redis))
    assert result.exit_code == 0 and set(result.files) == {"swapcheck.json", "redis-server.json"}
    first, second = work.phases(result)
    assert (first.name, first.exit_code, first.bytes, first.verified) == ("swapcheck", 0, 5, True)
    assert [step.name for step in first.steps] == ["fill", "verify"]
    assert [step.name for step in second.steps] == ["load", "read back"]
    assert first.end is not None and first.begin <= first.end <= second.begin
    assert whole.verdict(result) == Verdict(7, True)


def test_the_second_runs_though_the_first_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, result = ran(tmp_path, monkeypatch, fake("swapcheck", None, 137), fake("other", {"verified": True}))
    assert result.exit_code == 1
    first, second = work.phases(result)
    assert (first.exit_code, first.verified, first.steps) == (137, False, ())
    assert second.verified and whole.verdict(result).verified is False


def test_a_program_that_says_verified_and_fails_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, result = ran(tmp_path, monkeypatch, fake("swapcheck", SWAPCHECK, 1))
    assert whole.verdict(result).verified is False


def test_a_machine_that_stopped_in_the_middle() -> None:
    result = GuestResult(stdout="phase begin swapcheck 3.5 0\nother words\nphase begin")
    assert work.phases(result) == [work.Phase("swapcheck", 3.5)]
    assert work.program([fake("swapcheck", None)], "all", False).verdict(result).verified is False


def test_zram_is_limited_as_the_pool_is() -> None:
    assert "90 / 100" in work.script([], 1 << 28, True) and "zram0/mem_limit" in work.script([], 1 << 28, True)
    assert "zram" not in work.script([], 1 << 28, False)
