# SPDX-License-Identifier: GPL-2.0
"""swapoff of a device whose pages are in memory, most of them: these need no room anywhere."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from vswaplab import paths

PROGRAM = Path(__file__).with_name("leave_in_guest.py")
LEAVE = """
PYTHONPATH={root} python3 {program} {options} > $RESULTS/out.json 2> $RESULTS/err; echo $? > $RESULTS/code
settle
"""

pytestmark = [pytest.mark.kernel("vswap", "um", "release"), pytest.mark.kernel("mainline", "um", "release")]


def leave(boot_guest: Boot, kernel: str, options: str) -> dict[str, Any]:
    """What the program saw; swapoff has worked, and nothing is lost or left."""
    result = boot_guest(
        LEAVE.format(root=paths.repo_root(), program=PROGRAM, options=options),
        kernel=kernel, flavour="release", mem_bytes=192 * MIB, swap="file:1G", mode="always", zswap=False,
    )  # fmt: skip
    assert number(result, "code") == 0, result.files["err"]
    seen: dict[str, Any] = answer(result, "out.json")
    assert seen["code"] == 0 and seen["intact"], (seen, result.files["err"])
    assert kernel == "mainline" or result.end.slots_used == 0
    return seen


@pytest.mark.parametrize("kernel", ["vswap", "mainline"])
def test_all_of_it_is_in_memory(boot_guest: Boot, kernel: str) -> None:
    """More than could be moved: reading it again has used memory up, and the device is the only one."""
    seen = leave(boot_guest, kernel, "--all")
    assert seen["used"] > 0.95 * seen["pages"] * 4096 and seen["used"] > 1.2 * seen["available"], seen


def test_few_of_a_batch_are_not(boot_guest: Boot) -> None:
    """One of these few does not compress and has to stay, while memory is short."""
    seen = leave(boot_guest, "vswap", "")
    assert seen["used"] > 0.95 * seen["pages"] * 4096, seen
    assert seen["total"] / 64 < seen["available"] < seen["total"] / 16, seen
