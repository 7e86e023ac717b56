# SPDX-License-Identifier: GPL-2.0
"""Command lines: help, and what must be refused with exit code 2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workloads.conftest import Program

BAD_SWAPCHECK = [
    ["--size", "12Q"],
    ["--size", "-4M"],
    ["--size", ""],
    ["--size", "99999999999999999999"],
    ["--size", "128K"],
    ["--mode", "nonsense"],
    ["--mode", "anon,"],
    ["--ratio", "0.5"],
    ["--ratio", "nan"],
    ["--zero", "60", "--random", "50"],
    ["--zero", "101"],
    ["--passes", "0"],
    ["--passes", "201"],
    ["--reads", "101"],
    ["--processes", "0"],
    ["--children", "1001"],
    ["--order", "backwards"],
    ["--corrupt", "5:badly"],
    ["--corrupt", "99999999"],
    ["--mode", "all", "--ready-file", "/tmp/x"],
    ["--mode", "shm-memfd", "--stop-file", "/tmp/x"],
    ["--no-such-option"],
    ["--size"],
    ["surplus"],
]

BAD_USEMEM = [
    [],
    ["12Q"],
    ["0"],
    ["1K"],
    ["64M", "surplus"],
    ["-n", "0", "1M"],
    ["-n", "many", "1M"],
    ["--repeat", "0", "1M"],
    ["--no-such-option", "1M"],
]


@pytest.mark.parametrize("args", BAD_SWAPCHECK, ids=" ".join)
def test_swapcheck_refuses(swapcheck: Program, args: list[str]) -> None:
    ran = swapcheck(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(("swapcheck: ", "/")) and ran.err.count("\n") == 1


@pytest.mark.parametrize("args", BAD_USEMEM, ids=" ".join)
def test_usemem_refuses(usemem: Program, args: list[str]) -> None:
    ran = usemem(*args)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1


def test_swapcheck_help_names_everything(swapcheck: Program) -> None:
    ran = swapcheck("--help")
    assert ran.code == 0 and ran.err == ""
    for word in ("--size", "--ratio", "--wait-file", "--min-swapped", "fork-many", "churn", "Exit codes"):
        assert word in ran.out


def test_usemem_help_names_everything(usemem: Program) -> None:
    ran = usemem("--help")
    assert ran.code == 0 and ran.err == ""
    assert set(re.findall(r"--[a-z-]+", ran.out)) >= {
        "--processes", "--anonymous", "--init-time", "--sync-start", "--sync-free", "--random", "--read",
        "--repeat", "--json", "--help",
    }  # fmt: skip
