# SPDX-License-Identifier: GPL-2.0
"""What a slot costs, and that nothing is left when slots are gone."""

import pytest

from tests.e2e.common import MIB, Boot, emulated_with_checkers, nothing_is_left

pytestmark = pytest.mark.kernel("vswap", "um", "release")

BYTES_PER_SLOT = 18.5  # the goal; 18 of it are the three tables
BYTES_AT_REST = 64 << 10
BYTES_PER_CLUSTER = 18 * 512
BYTES_OF_CHECKED_LOCK = 64  # more than without the checkers: spinlock_t with DEBUG_SPINLOCK and lockdep


def test_bytes_per_slot(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """600 MB of zero pages and of data, on 256 MB: 100,000 slots and more."""
    result = boot_guest(
        "swapcheck --size 600M --zero 40 --ratio 4 --passes 1; code=$?; settle; sleep 1; left; exit $code",
        flavour="release", mem_bytes=256 * MIB,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.peak.slots_used >= 100_000 and result.peak.zero > 20_000
    # The array of clusters, of which each has a lock, is mapped by the page, and stays.
    clusters = result.peak.metadata_bytes // BYTES_PER_CLUSTER if emulated_with_checkers(pytestconfig) else 0
    locks = -(-clusters * BYTES_OF_CHECKED_LOCK // 4096) * 4096
    assert (result.peak.metadata_bytes - locks) / result.peak.slots_used <= BYTES_PER_SLOT
    # Init and the shell may have been swapped, each page to another cluster.
    assert nothing_is_left(result), result.files["left"]
    assert result.end.metadata_bytes <= BYTES_AT_REST + locks + result.end.slots_used * BYTES_PER_CLUSTER


def test_nothing_for_who_does_not_swap(boot_guest: Boot) -> None:
    """A page of cluster_info, and no tables without zswap."""
    result = boot_guest("true", flavour="release", zswap=False)
    assert result.end.metadata_bytes <= 2 * 4096
