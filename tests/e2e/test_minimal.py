# SPDX-License-Identifier: GPL-2.0
"""A kernel without what virtual swap can do without: control groups, a second processor, tracing, MGLRU."""

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from vswaplab.guest import GuestResult

MODES = ("anon", "shm-tmpfs", "fork", "free", "mremap", "churn")

EACH = """
for mode in {modes}; do
  swapcheck --mode $mode --size 96M --seconds 5 --zero 10 --text 30 --random 20 --rewrite 20 \\
    --json=$RESULTS/$mode.json
  echo $? > $RESULTS/$mode.code
done
left
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
left
"""

FILES_KB = 512  # of the guest's tmpfs, such as $RESULTS: without control groups they are swapped as well


def nothing_is_left(result: GuestResult) -> bool:
    """Whether, by the script's "left", only living processes and a few files had slots at the end."""
    slots, own_kb = map(int, result.files["left"].split())
    return slots * 4 <= own_kb + FILES_KB


pytestmark = [pytest.mark.kernel("vswap", "um", "minimal"), pytest.mark.long]


@pytest.mark.parametrize(("swap", "pool"), [("none", 80), ("file:512M", 80), ("file:512M", 10)])
def test_bytes(boot_guest: Boot, swap: str, pool: int) -> None:
    result = boot_guest(
        EACH.format(modes=" ".join(MODES)), flavour="minimal", mem_bytes=96 * MIB, swap=swap, pool_percent=pool
    )
    for mode in MODES:
        assert number(result, f"{mode}.code") == 0, answer(result, f"{mode}.json")
        assert answer(result, f"{mode}.json")["verified"] is True
    assert nothing_is_left(result), result.files["left"]


@pytest.mark.parametrize("mode", ["auto", "always", "never"])
def test_swapoff(boot_guest: Boot, mode: str) -> None:
    result = boot_guest(
        SWAPOFF.format(mode=mode), flavour="minimal", mem_bytes=96 * MIB, swap="file:256M", pool_percent=10
    )
    assert number(result, "used") > 0 and number(result, "code") == 0
    assert answer(result, "swapoff.json")["verified"] is True
    assert nothing_is_left(result), result.files["left"]
