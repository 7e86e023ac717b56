# SPDX-License-Identifier: GPL-2.0
"""What the kernel's selftests print: the Test Anything Protocol."""

import re


def outcomes(output: str) -> dict[str, str]:
    """What each test of a program came to: "ok", "not ok" or "skip", by its number and name."""
    found: dict[str, str] = {}
    for line in output.splitlines():
        if match := re.match(r"(ok|not ok) (\d+)(.*)", line):
            skipped = "# SKIP" in match[3]
            name = re.sub(r"\s*#\s*(SKIP|XFAIL)\s*", " ", match[3]).strip()
            found[f"{match[2]} {name}"] = "skip" if skipped else match[1]
    return found


def passed(output: str) -> set[str]:
    """The names, without their numbers, of the tests that are "ok"."""
    return {test.partition(" ")[2] for test, was in outcomes(output).items() if was == "ok"}
