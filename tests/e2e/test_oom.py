# SPDX-License-Identifier: GPL-2.0
"""When nothing can be reclaimed, the OOM killer ends it within seconds."""

import pytest

from tests.e2e.common import MIB, Boot
from vswaplab.guest import GuestResult

# After extreme pressure a few pages of the guest's own, such as its tmpfs, may be in the swap cache.
GUEST_SLOTS = 64
SECONDS = 40.0  # on a loaded machine; alone it takes a quarter of that


def ended_by_oom(result: GuestResult) -> None:
    assert "swapcheck" in result.oom_kills
    assert result.exit_code == 1
    assert result.seconds is not None and result.seconds < SECONDS
    assert result.end.slots_used < GUEST_SLOTS


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize(
    ("workload", "pool"),
    [("--size 220M --random 100", 80), ("--size 400M --ratio 3", 20), ("--size 400M -P 4 --random 40", 40)],
    ids=["incompressible", "pool-full", "four-processes"],
)
def test_no_livelock(boot_guest: Boot, workload: str, pool: int) -> None:
    result = boot_guest(
        f"swapcheck {workload}; code=$?; settle; exit $code",
        flavour="release", mem_bytes=160 * MIB, pool_percent=pool, timeout=120.0,
    )  # fmt: skip
    ended_by_oom(result)


@pytest.mark.kernel("vswap", "um", "debug")
def test_no_livelock_on_the_debug_kernel(boot_guest: Boot) -> None:
    result = boot_guest("swapcheck --size 200M --random 100; code=$?; settle; exit $code", mem_bytes=200 * MIB)
    assert "swapcheck" in result.oom_kills and result.end.slots_used < GUEST_SLOTS


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
def test_without_zswap_it_is_mainline_without_swap(boot_guest: Boot) -> None:
    """The same workload is killed on both, and nothing is swapped."""
    script = "swapcheck --size 220M; code=$?; exit $code"
    for kernel in ("vswap", "mainline"):
        result = boot_guest(script, kernel=kernel, flavour="release", mem_bytes=160 * MIB, zswap=False)
        assert "swapcheck" in result.oom_kills and result.exit_code == 1
        assert result.peak.slots_used == 0 and result.peak.zswap == 0


@pytest.mark.kernel("vswap", "um", "release")
def test_what_does_not_compress_stays_and_the_rest_goes(boot_guest: Boot) -> None:
    """A third of the data is random: it stays in memory, intact, and no one is killed."""
    result = boot_guest(
        "swapcheck --size 220M --random 30 --ratio 5 --passes 1; code=$?; settle; exit $code",
        flavour="release", mem_bytes=200 * MIB,
    )  # fmt: skip
    assert result.exit_code == 0 and result.oom_kills == []
    assert result.peak.slots_used > 10000 and result.end.slots_used < GUEST_SLOTS
