# SPDX-License-Identifier: GPL-2.0
"""usemem: what it reports, and that it does what it reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workloads.conftest import Program

MIB = 1 << 20


@pytest.mark.parametrize("extra", [[], ["-O"], ["-R"], ["-O", "-R"]], ids=" ".join)
def test_reads_back_what_it_wrote(usemem: Program, extra: list[str]) -> None:
    ran = usemem("-r", "--json", *extra, "8M")
    assert ran.code == 0, ran.err
    report = ran.json()
    assert report["verified"] is True
    assert report["bytes"] == 8 * MIB
    assert report["order"] == ("random" if "-R" in extra else "sequential")
    assert report["throughput_kb_s"] > 0 and report["read_kb_s"] > 0 and report["free_us"] > 0


def test_published_options_with_several_processes(usemem: Program) -> None:
    report = usemem("--init-time", "-O", "-y", "-x", "-n", "5", "--repeat", "3", "--json", "4M").json()
    assert report["processes"] == len(report["per_process"]) == 5
    assert report["bytes"] == 5 * 3 * 4 * MIB
    assert report["failed"] == 0
    assert report["verified"] is False, "without --read nothing was verified"
    for process in report["per_process"]:
        assert process["done"] and process["failure"] is None
        assert process["bytes"] == 3 * 4 * MIB
    slowest = max(process["write_us"] for process in report["per_process"])
    expected = report["bytes"] / 1024 / (slowest / 1e6)
    assert report["throughput_kb_s"] == pytest.approx(expected, rel=0.01)


def test_lines_for_people(usemem: Program) -> None:
    ran = usemem("-n", "2", "-r", "4M")
    lines = ran.out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("process 0: wrote 4194304 bytes in ")
    assert lines[2].startswith("total: 8388608 bytes: ") and "verified" in lines[2]


def test_json_into_a_file(usemem: Program, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    ran = usemem(f"--json={path}", "4M")
    assert ran.code == 0 and "total:" in ran.out
    assert json.loads(path.read_text())["bytes"] == 4 * MIB


def test_json_file_that_cannot_be_written(usemem: Program, tmp_path: Path) -> None:
    ran = usemem(f"--json={tmp_path}/missing/out.json", "4M")
    assert ran.code == 1
    assert "cannot write" in ran.err


def test_memory_that_cannot_be_had(usemem: Program) -> None:
    # The fixture limits the address space to less; nobody may wait for ever for the one that failed.
    ran = usemem("--json", "-O", "-y", "-x", "-n", "2", "1T")
    assert ran.code == 1
    report = ran.json()
    assert report["failed"] == 2
    for process in report["per_process"]:
        assert process["failure"].startswith("cannot take the memory: ")
