# SPDX-License-Identifier: GPL-2.0
"""Every mode of swapcheck verifies sound memory and notices spoilt memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workloads.conftest import Program

MODES = [
    "anon", "shm-tmpfs", "shm-memfd", "fork", "fork-many", "dontneed", "free", "pageout", "mremap",
    "munmap", "churn", "read",
]  # fmt: skip
MIXTURE = ["--zero", "10", "--same", "5", "--text", "20", "--random", "5"]
QUICK = ["--size", "6M", "--seconds", "1"]


@pytest.mark.parametrize("mode", MODES)
def test_sound_memory_verifies(swapcheck: Program, mode: str) -> None:
    ran = swapcheck("--mode", mode, *QUICK, *MIXTURE, "--rewrite", "30", "--pageout", "--passes", "3", "--json")
    assert ran.code == 0, ran.err
    report = ran.json()
    assert report["mode"] == mode and report["verified"] is True and report["mismatches"] == 0
    assert report["bytes"] == 6 << 20 and report["pages"] == 1536
    assert report["checks"] >= report["pages"]
    (entry,) = report["modes"]
    assert entry["status"] == "ok" and entry["killed"] == [] and entry["first_failures"] == []
    assert entry["seconds"]["fill"] > 0 and entry["seconds"]["total"] > 0


@pytest.mark.parametrize("mode", MODES)
def test_spoilt_memory_is_noticed(swapcheck: Program, mode: str) -> None:
    ran = swapcheck("--mode", mode, *QUICK, "--corrupt", "700", "--json")
    # In churn every thread has half of the pages only.
    assert ran.code == 1
    report = ran.json()
    assert report["verified"] is False and report["mismatches"] >= 1
    (entry,) = report["modes"]
    assert entry["status"] == "failed"
    assert all(found["page"] == 700 for found in entry["first_mismatches"])
    assert "NOT VERIFIED" in ran.err


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("flip", "found page 700 of region 0, generation 0, but for 1 bytes"),
        ("zero", "found a page of zeroes"),
        ("other", "found page 701 of region 0, generation 0"),
    ],
)
def test_what_was_found_is_told(swapcheck: Program, kind: str, text: str) -> None:
    ran = swapcheck(*QUICK, "--corrupt", f"700:{kind}", "--passes", "1")
    assert ran.code == 1
    assert "page 700 of region 0" in ran.out
    assert text in ran.out


@pytest.mark.parametrize("mixture", [["--same", "100"], ["--text", "100"], ["--random", "100"], ["--zero", "100"]])
def test_a_flipped_bit_shows_in_every_kind_of_page(swapcheck: Program, mixture: list[str]) -> None:
    assert swapcheck(*QUICK, *mixture).code == 0
    assert swapcheck(*QUICK, *mixture, "--corrupt", "3").code == 1


@pytest.mark.parametrize("children", [1, 2, 3, 45, 130])
def test_number_of_children(swapcheck: Program, children: int) -> None:
    ran = swapcheck("--mode", "fork", "--size", "2M", "--children", str(children), "--zero", "10")
    assert ran.code == 0, ran.out


def test_several_processes_share_the_size(swapcheck: Program) -> None:
    for mode in ("anon", "fork", "churn"):
        report = swapcheck(
            "--mode", mode, "--size", "7M", "--processes", "3", "--seconds", "1", "--rewrite", "50", "--json"
        ).json()
        assert report["verified"] is True and report["pages"] == 7 * 256


def test_steps_that_only_read_leave_a_wrong_page_wrong(swapcheck: Program) -> None:
    def found(*args: str) -> int:
        churn = ["--mode", "churn", "--threads", "1", "--size", "2M", "--seconds", "1"]
        report = swapcheck(*churn, *args, "--corrupt", "3", "--json").json()
        return int(report["mismatches"])

    assert found("--reads", "100") > 100
    assert 0 < found() < 50  # soon it is rewritten or dropped


def test_modes_in_a_list(swapcheck: Program) -> None:
    report = swapcheck("-m", "anon,mremap", "-m", "free", "--size", "2M", "--json").json()
    assert [entry["mode"] for entry in report["modes"]] == ["anon", "mremap", "free"]
    assert report["mode"] == "several" and report["pages"] == 3 * 512


def test_lines_and_json_file(swapcheck: Program, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    ran = swapcheck("--size", "2M", f"--json={path}")
    assert ran.code == 0
    assert ran.out.startswith("anon") and ran.out.splitlines()[-1] == "verified (seed 1)"
    assert json.loads(path.read_text())["verified"] is True
    assert swapcheck("--size", "2M", f"--json={tmp_path}/missing/x").code == 1


def test_a_mode_that_cannot_run_is_no_success(swapcheck: Program, tmp_path: Path) -> None:
    # A directory that is no tmpfs: /proc is one on every machine.
    args = ["--mode", "shm-tmpfs", "--tmpdir", "/proc", "--size", "2M", "--json"]
    ran = swapcheck(*args)
    assert ran.code == 1
    report = ran.json()
    assert report["verified"] is False
    assert report["modes"][0]["status"] == "skipped" and "/proc" in report["modes"][0]["skip_reason"]
    allowed = swapcheck(*args, "--allow-skip")
    assert allowed.code == 0
    assert allowed.json()["verified"] is False, "allowed or not, nothing was verified"


def test_ksm_runs_or_says_why_not(swapcheck: Program) -> None:
    ran = swapcheck("--mode", "ksm", "--size", "2M", "--ksm-wait", "1", "--json", "--pageout")
    (entry,) = ran.json()["modes"]
    if entry["status"] == "skipped":
        assert ran.code == 1 and entry["skip_reason"]
    else:
        assert ran.code == 0 and entry["checks"] >= entry["pages"]


def test_less_swap_than_demanded_is_a_failure(swapcheck: Program) -> None:
    ran = swapcheck("--size", "2M", "--min-swapped", "1G", "--json")
    assert ran.code == 1
    assert "--min-swapped" in ran.json()["modes"][0]["first_failures"][0]
