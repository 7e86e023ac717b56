# SPDX-License-Identifier: GPL-2.0
"""What kernels that are configured in another way have to do: keep every byte, with and without a device.

test_minimal.py and others import the tests, so that each configuration can be run, and recorded, alone.
"""

from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from vswaplab.guest import GuestResult

MODES = ("anon", "shm-tmpfs", "fork", "free", "mremap", "churn")

EACH = """
for mode in {modes}; do
  swapcheck --mode $mode --size {size}M --seconds 5 --zero 10 --text 30 --random 20 --rewrite 20 \\
    --json=$RESULTS/$mode.json
  echo $? > $RESULTS/$mode.code
done
settle; left
"""

# Memory is on the device, in zswap or both; then the device goes, and everything must still be there.
SWAPOFF = """
echo {mode} > $V/mode
swapcheck --size 40M --pageout --random 40 --ready-file /run/ready --wait-file /run/go \\
  --json=$RESULTS/swapoff.json & pid=$!
until [ -e /run/ready ]; do sleep 0.1; done
used > $RESULTS/used
swapoff $(device); echo $? > $RESULTS/code
touch /run/go
wait $pid
settle; left
"""

FILES_KB = 512  # of the guest's tmpfs, such as $RESULTS: without control groups they are swapped as well


def marks(*configurations: tuple[str, str]) -> list[pytest.MarkDecorator]:
    """Of a file with tests of such kernels, by architecture and flavour. They take minutes."""
    kernels = [
        pytest.param(arch, flavour, marks=pytest.mark.kernel("vswap", arch, flavour))
        for arch, flavour in configurations
    ]
    return [pytest.mark.long, pytest.mark.parametrize(("arch", "flavour"), kernels)]


def machine(arch: str, flavour: str) -> dict[str, Any]:
    """What all guests of a configuration have, and how much memory."""
    return {
        "arch": arch,
        "flavour": flavour,
        "mem_bytes": (96 if arch == "um" else 160 if flavour == "minimal" else 128) * MIB,
        "cpus": 1 if flavour == "minimal" else 2,
        "nodes": 2 if flavour == "rt" else 1,
        # KCSAN delays accesses, to see who else makes them; preempt and rt have lockdep. Two processors that
        # have one of the host's spin for each other: what takes five minutes took more than 15 beside a guest.
        "timeout": 400.0 if flavour == "minimal" else 1800.0,
    }


def nothing_is_left(result: GuestResult) -> bool:
    """Whether, by the script's "left", only living processes and a few files had slots at the end."""
    slots, own_kb = map(int, result.files["left"].split())
    return slots * 4 <= own_kb + FILES_KB


@pytest.mark.parametrize(("swap", "pool"), [("none", 80), ("file:512M", 80), ("file:512M", 10)])
def test_bytes(boot_guest: Boot, arch: str, flavour: str, swap: str, pool: int) -> None:
    """Write, swap and compare in all of swapcheck's ways."""
    guest = machine(arch, flavour)
    # With its checkers a kernel leaves some 85 of 128 MB. Much more data than that would be swapped for minutes.
    size = guest["mem_bytes"] // MIB if flavour == "minimal" else 80
    text = EACH.format(modes=" ".join(MODES), size=size)
    result = boot_guest(text, **guest, swap=swap, pool_percent=pool)
    for mode in MODES:
        assert number(result, f"{mode}.code") == 0, answer(result, f"{mode}.json")
        assert answer(result, f"{mode}.json")["verified"] is True
    assert result.peak.slots_used > 2000 and nothing_is_left(result), (result.peak, result.files["left"])


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
def test_swapoff(boot_guest: Boot, arch: str, flavour: str, mode: str) -> None:
    """Swap, take the device away, and compare."""
    result = boot_guest(SWAPOFF.format(mode=mode), **machine(arch, flavour), swap="file:256M", pool_percent=10)
    assert number(result, "used") > 2048 and number(result, "code") == 0
    assert answer(result, "swapoff.json")["verified"] is True
    assert nothing_is_left(result), result.files["left"]
