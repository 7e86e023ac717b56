# SPDX-License-Identifier: GPL-2.0
"""The demonstration on a Debian: a program that fills more memory than there is, and verifies every byte."""

import json
from dataclasses import dataclass
from typing import Any

from vswaplab.debian.machine import Answer, Debian

MEMORY = 512 << 20  # of the machine
SIZE = 768 << 20  # of the program
_SECONDS = 1800.0
# It waits when all is filled, so that one can look at where its pages are.
FILL = f"swapcheck --size {SIZE >> 20}M --ready-file /run/filled --wait-file /run/go >/run/said 2>&1 &"
FILLED = "until test -e /run/filled || ! kill -0 $!; do sleep 1; done"
VERIFY = "touch /run/go; wait $!; cat /run/said"


@dataclass(frozen=True)
class Passed:
    """What the program came to, and what vswapctl said while all of its memory was filled."""

    filled: Answer
    verified: Answer
    status: Answer
    facts: dict[str, Any]


def put_on(machine: Debian) -> Passed:
    """Run the program. Raises ToolError if something other than it fails."""
    filled = machine.run(FILL)
    machine.ok(FILLED, _SECONDS)
    status = machine.run("vswapctl status")
    facts = json.loads(machine.ok("vswapctl status --json"))
    # The shell's status is that of cat: ask for the program's own.
    verified = machine.run(VERIFY.replace("wait $!;", "wait $!; set -- $?;") + "; (exit $1)", _SECONDS)
    return Passed(filled, verified, status, facts)
