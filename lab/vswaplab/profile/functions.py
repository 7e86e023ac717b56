# SPDX-License-Identifier: GPL-2.0
"""Instructions and calls by function, from the blocks that ran and the symbols of the kernel."""

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vswaplab.errors import ToolError
from vswaplab.proc import SYSTEM, Runner

TEXT = "tTwW"  # what nm calls a symbol of code
LIMIT_SECONDS = 120.0

Symbols = Sequence[tuple[int, str]]


@dataclass
class Function:
    """What ran of a function; copies that the compiler made of it are added up."""

    instructions: int = 0
    calls: int = 0


def symbols(vmlinux: Path, *, runner: Runner = SYSTEM) -> Symbols:
    """The functions of a kernel, by address. Raises ToolError."""
    return read_symbols(runner.run(["nm", "-n", str(vmlinux)], timeout=LIMIT_SECONDS).stdout.splitlines())


def read_symbols(lines: Iterable[str]) -> Symbols:
    """The same from what nm says: "ADDRESS KIND NAME"."""
    words = (line.split() for line in lines)
    return [(int(found[0], 16), found[2]) for found in words if len(found) == 3 and found[1] in TEXT]


def by_function(lines: Iterable[str], found: Symbols) -> dict[str, Function]:
    """Of the plugin's lines "ADDRESS INSTRUCTIONS COUNT". Where a function begins, its calls are counted."""
    addresses = [address for address, _ in found]
    functions: dict[str, Function] = {}
    for line in lines:
        try:
            words = zip(line.split(), (16, 10, 10), strict=True)
            address, instructions, count = (int(word, base) for word, base in words)
        except ValueError as error:
            raise ToolError(f"QEMU's plugin wrote {line!r}") from error
        at = bisect.bisect_right(addresses, address) - 1
        if at < 0:
            continue
        function = functions.setdefault(found[at][1].partition(".")[0], Function())
        function.instructions += instructions * count
        function.calls += count if addresses[at] == address else 0
    return functions
