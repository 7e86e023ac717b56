# SPDX-License-Identifier: GPL-2.0
"""A virtual slot's cluster is found by address arithmetic: the same instructions as on mainline."""

import re
import subprocess
from collections.abc import Callable

import pytest

from vswaplab.build import BuiltKernel

LOOKUP = ["swap_cache_get_folio", "__swap_entry_to_cluster", "swap_table_get"]


def instructions(kernel: BuiltKernel, function: str) -> list[str]:
    """The function without addresses; the size of a cluster, which we enlarge, is a constant in it."""
    command = ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", str(kernel.image)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t", 1)[1] for line in said.splitlines() if re.match(r"\s+[0-9a-f]+:\t", line)]
    return [re.sub(r"\$?0x[0-9a-f]+|[0-9a-f]+ <.*>", "N", line).strip() for line in lines]


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize("function", LOOKUP)
def test_the_lookup_is_mainlines(built_kernel: Callable[[str, str, str], BuiltKernel], function: str) -> None:
    ours = instructions(built_kernel("vswap", "um", "release"), function)
    assert ours, f"{function} is inlined everywhere, or gone"
    assert ours == instructions(built_kernel("mainline", "um", "release"), function)
    if function == "__swap_entry_to_cluster":
        assert not [line for line in ours if line.startswith(("j", "call"))]
