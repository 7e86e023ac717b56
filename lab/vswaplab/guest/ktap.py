# SPDX-License-Identifier: GPL-2.0
"""The results of KUnit in a console log, read by the parser that comes with the kernel's sources."""

import importlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from vswaplab.guest.splats import without_stamp

Status = Literal["pass", "fail", "skip", "crash"]

PARSER = Path("tools/testing/kunit")  # below the kernel's sources
_STATUS: dict[str, Status] = {"SUCCESS": "pass", "SKIPPED": "skip", "FAILURE": "fail"}  # others are crashes


@dataclass(frozen=True)
class Case:
    """One test case; ``name`` has the names it is nested in before it, joined by dots."""

    name: str
    status: Status
    message: str = ""


def _module(source: Path, name: str) -> ModuleType:
    """A module of the kernel's own tool. Its modules import each other by their bare names."""
    path = str(source / PARSER)
    sys.path.insert(0, path)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(path)


def _flatten(test: Any, prefix: str) -> list[Case]:
    """The cases below a kunit_parser.Test."""
    name = ".".join(part for part in (prefix, test.name) if part)
    status = _STATUS.get(test.status.name, "crash")
    message = test.skip_reason if status == "skip" else "\n".join(test.log) if status != "pass" else ""
    if not test.subtests:
        return [Case(name, status, message)]
    cases = [case for child in test.subtests for case in _flatten(child, name)]
    # A suite can fail by itself, in its set-up, with all its tests passed.
    if status not in ("pass", "skip") and all(case.status in ("pass", "skip") for case in cases):
        cases.append(Case(name, status, message))
    return cases


def parse(console: str, source: Path) -> list[Case]:
    """Every test case in the log, in order; empty if there is no KTAP in it. ``source``: a kernel's sources.

    What the parser finds wrong with the log, such as tests that are planned and did not report, is a
    crash without a name.
    """
    said = io.StringIO()
    printer = _module(source, "kunit_printer").Printer(output=said)
    lines = [without_stamp(line).rstrip() for line in console.splitlines()]
    found = _module(source, "kunit_parser").parse_run_tests(lines, printer)
    if not found.subtests:
        return []
    cases = [case for test in found.subtests for case in _flatten(test, "")]
    errors = [line.partition("[ERROR] ")[2] for line in said.getvalue().splitlines() if "[ERROR] " in line]
    return [*cases, *([Case("", "crash", "\n".join(errors))] if errors else [])]


def passed(cases: list[Case]) -> bool:
    """At least one case passed, and none failed or crashed."""
    return any(case.status == "pass" for case in cases) and all(case.status in ("pass", "skip") for case in cases)
