# SPDX-License-Identifier: GPL-2.0
"""Reads the results of KUnit, in the format KTAP, out of a console log.

Tests nest by indentation of four spaces; a result line comes after its subtests. What other
parts of the kernel print in between is kept as the explanation of a failure.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from vswaplab.guest.splats import without_stamp

Status = Literal["pass", "fail", "skip", "crash"]

_RESULT = re.compile(r"^( *)(not )?ok (\d+)(?: -)? ?(.*)$")
_PLAN = re.compile(r"^( *)1\.\.(\d+)(?: *# *SKIP.*)?$")
_VERSION = re.compile(r"^( *)(?:K?TAP) version \d+$")
_SUBTEST = re.compile(r"^( *)# Subtest: (.*)$")
_SKIP = re.compile(r"(?:^|\s)# *SKIP\b *(.*)$", re.IGNORECASE)
_INDENT = 4
_KEEP = 30  # lines of explanation


@dataclass(frozen=True)
class Case:
    """One test case; ``name`` has the names it is nested in before it, joined by dots."""

    name: str
    status: Status
    message: str = ""


@dataclass
class _Node:
    name: str
    status: Status
    message: str = ""
    children: list["_Node"] = field(default_factory=list)


@dataclass
class _Level:
    """The tests of one indentation that are not claimed by a result line yet."""

    name: str = ""
    plan: int | None = None
    nodes: list[_Node] = field(default_factory=list)


class _Parser:
    def __init__(self) -> None:
        self.levels: dict[int, _Level] = {}
        self.noise: list[str] = []

    def line(self, text: str) -> None:
        if match := _VERSION.match(text):
            self._open(self._depth(match[1]))
        elif match := _SUBTEST.match(text):
            self._level(self._depth(match[1])).name = match[2].strip()
        elif match := _PLAN.match(text):
            self._level(self._depth(match[1])).plan = int(match[2])
        elif self.levels and (match := _RESULT.match(text)):
            self._result(self._depth(match[1]), bool(match[2]), int(match[3]), match[4])
        elif self.levels:
            self.noise = [*self.noise[1 - _KEEP :], text.strip()]

    @staticmethod
    def _depth(spaces: str) -> int:
        return len(spaces) // _INDENT

    def _level(self, depth: int) -> _Level:
        return self.levels.setdefault(depth, _Level())

    def _open(self, depth: int) -> None:
        """A header: tests that came before at this depth stay only at the top."""
        if depth or depth not in self.levels:
            self.levels[depth] = _Level()

    def _result(self, depth: int, failed: bool, number: int, rest: str) -> None:
        skip = _SKIP.search(rest)
        name = rest.partition(" #")[0].strip() or str(number)
        status: Status = "fail" if failed else "skip" if skip else "pass"
        message = "\n".join(self.noise) if failed else skip[1] if skip else ""
        inner = self.levels.pop(depth + 1, None)
        node = _Node(name, status, message, inner.nodes if inner else [])
        if inner and (gap := _missing(inner)):
            node.children.append(gap)
        self._level(depth).nodes.append(node)
        self.noise = []

    def finish(self) -> list[_Node]:
        """All tests. Those whose result line never came end in a crash."""
        for depth in sorted(self.levels, reverse=True):
            level = self.levels.pop(depth)
            gap = _missing(level)
            if depth == 0:
                return [*level.nodes, *([gap] if gap else [])]
            cut = _Node("", "crash", "\n".join(["the log ends in this test", *self.noise]))
            node = _Node(level.name or "(unnamed)", "crash", "", [*level.nodes, gap or cut])
            self._level(depth - 1).nodes.append(node)
        return []


def _missing(level: _Level) -> _Node | None:
    """A failed test for those that were planned and did not report."""
    if level.plan is None or len(level.nodes) >= level.plan:
        return None
    return _Node("", "crash", f"{len(level.nodes)} of {level.plan} tests reported")


def _flatten(node: _Node, prefix: str) -> list[Case]:
    name = ".".join(part for part in (prefix, node.name) if part)
    if not node.children:
        return [Case(name, node.status, node.message)]
    cases = [case for child in node.children for case in _flatten(child, name)]
    # A suite can fail by itself, in its set-up, with all its tests passed.
    if node.status == "fail" and all(case.status in ("pass", "skip") for case in cases):
        cases.append(Case(name, "fail", node.message))
    return cases


def parse(console: str) -> list[Case]:
    """Every test case in the log, in order; empty if there is no KTAP in it."""
    parser = _Parser()
    for line in console.splitlines():
        parser.line(without_stamp(line).rstrip())
    return [case for node in parser.finish() for case in _flatten(node, "")]


def passed(cases: list[Case]) -> bool:
    """At least one case passed, and none failed or crashed."""
    return any(case.status == "pass" for case in cases) and all(case.status in ("pass", "skip") for case in cases)
