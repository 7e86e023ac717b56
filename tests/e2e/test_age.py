# SPDX-License-Identifier: GPL-2.0
"""Which compressed pages are written back: the hand through the clusters against mainline's LRU list."""

import statistics
from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer

ROUNDS = 5
HERE = Path(__file__).parent

SKEWED = """
echo 0 > /proc/sys/vm/page-cluster
group a; echo 40M > $CG/a/memory.max
in_group a python3 {program} --pages 40960 --touches 240000 --skew {skew} --seed {seed} > $RESULTS/age.json
echo $? > $RESULTS/code
"""


def read_from_device(boot_guest: Boot, kernel: str, skew: float, seed: int) -> int:
    """Pages read from the device; all that was touched is verified."""
    result = boot_guest(
        SKEWED.format(program=HERE / "age_in_guest.py", skew=skew, seed=seed),
        kernel=kernel, flavour="release", mem_bytes=160 * MIB, swap="file:1G", pool_percent=12, mode="auto",
        cpus=1,
    )  # fmt: skip
    seen = answer(result, "age.json")
    assert seen["bad"] == 0 and result.files["code"].strip() == "0"
    assert seen["zswpin"] > 2000 and seen["pswpin"] > 1000, seen  # both places are in use
    return int(seen["pswpin"])


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize("skew", [0.8, 1.1])
def test_what_is_used_again_stays_in_zswap(boot_guest: Boot, skew: float) -> None:
    """160 MB in 40 MB and a pool of 19 MB: no more is read from disk than with an LRU list.

    By cluster is not the exact order of age. The pool is compacted, and so holds more data than mainline's,
    which outweighs it.

    The device is large, as mainline gives the slot of a page that was read back when swap is half full, so
    that the page goes to zswap the next time: with 256 MB it reads a sixth less (at a skew of 1.1).
    """
    reads: dict[str, list[int]] = {"mainline": [], "vswap": []}
    for seed in range(ROUNDS):
        for kernel, found in reads.items():
            found.append(read_from_device(boot_guest, kernel, skew, seed))
    ratio = statistics.median(
        ours / theirs for ours, theirs in zip(reads["vswap"], reads["mainline"], strict=True)
    )
    assert ratio <= 1.02, reads
