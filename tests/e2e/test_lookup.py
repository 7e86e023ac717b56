# SPDX-License-Identifier: GPL-2.0
"""A virtual slot's cluster is found by address arithmetic: the same instructions as on mainline."""

import re
import subprocess
from collections.abc import Callable

import pytest

from vswaplab.build.kbuild import BuiltKernel

LOOKUP = "swap_cache_get_folio"  # with everything that finds the cluster inlined
MEMORY = re.compile(r"-?(?:0x[0-9a-f]+)?\(%[^)]*\)")


def shape(kernel: BuiltKernel, function: str) -> list[str]:
    """What is read from memory, and where it branches: the function without its arithmetic.

    The size of a cluster's header, which we enlarge, is a factor there, so that the instructions
    that multiply differ, and the registers with them.
    """
    image = kernel.dir / "vmlinux.unstripped"
    command = ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", str(image)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = []
    for line in said.splitlines():
        if not re.match(r"\s*[0-9a-f]+:\t", line):
            continue
        opcode, _, operands = line.split("\t", 1)[1].partition(" ")
        if opcode.startswith(("j", "call", "cmov", "cmp", "test", "lock", "ret")):
            found.append(opcode)
        if not opcode.startswith(("lea", "nop", "xchg")) and (memory := MEMORY.search(operands)):
            place = "(%rip)" if memory[0].endswith("(%rip)") else memory[0]  # a variable is elsewhere
            found.append(re.sub(r"%\w+", "R", place))
    return found


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
def test_the_lookup_is_mainlines(built_kernel: Callable[[str, str, str], BuiltKernel]) -> None:
    ours = shape(built_kernel("vswap", "um", "release"), LOOKUP)
    assert len(ours) > 20, f"{LOOKUP} is gone"
    assert ours == shape(built_kernel("mainline", "um", "release"), LOOKUP)
