# SPDX-License-Identifier: GPL-2.0
"""Slots of a device that a CPU has taken for pages it will write next: free for all others, and for swapoff."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from vswaplab import paths

PROGRAM = Path(__file__).with_name("spare_in_guest.py")
SPARE = """
PYTHONPATH={root} python3 {program} {options} > $RESULTS/out.json 2> $RESULTS/err; echo $? > $RESULTS/code
verify > $RESULTS/verify; settle; used > $RESULTS/used
"""

pytestmark = pytest.mark.kernel("vswap", "um", "debug")


def look(boot_guest: Boot, options: str, **more: Any) -> dict[str, Any]:
    """What the program saw. All is as it was, and nothing is left on the device, by its own count."""
    result = boot_guest(
        SPARE.format(root=paths.repo_root(), program=PROGRAM, options=options),
        cpus=2, mem_bytes=128 * MIB, mode="always", zswap=False, **({"swap": "file:4M"} | more),
    )  # fmt: skip
    assert number(result, "code") == 0, result.files["err"]
    assert number(result, "verify") == 0 and number(result, "used") == 0
    assert (result.end.slots_used, result.end.physical) == (0, 0)
    seen: dict[str, Any] = answer(result, "out.json")
    return seen


@pytest.mark.parametrize("then", ["always", "never"])
def test_another_cpu_finds_the_last_slot(boot_guest: Boot, then: str) -> None:
    """Also one that uses no virtual slots any more."""
    seen = look(boot_guest, f"last_slot --then {then}")
    # A page counts as one, whatever was taken with it.
    assert seen["one_each"] == [1, 2] and seen["free"][0] - seen["free"][1] == 2, seen
    assert seen["full"] == seen["size"] > 900, seen
    assert seen["intact"], seen


def test_swapoff_takes_them_back(boot_guest: Boot) -> None:
    seen = look(boot_guest, "removed")
    assert len(seen["codes"]) == 40 and not any(seen["codes"]), seen
    assert seen["intact"], seen


def test_races_on_a_small_device(boot_guest: Boot) -> None:
    """Pages of two CPUs do not all fit on it, and it is removed all the time."""
    seen = look(boot_guest, "race", swap="file:1M")
    assert not any(seen["codes"]) and len(seen["codes"]) > 6, seen
    assert min(seen["turns"]) > 3 and seen["intact"] == [True, True], seen
