# SPDX-License-Identifier: GPL-2.0
"""A kernel with KCSAN, which looks for accesses that race, and delays them to see who else makes them."""

from tests.e2e.configured import marks, test_bytes, test_swapoff

__all__ = ["test_bytes", "test_swapoff"]

pytestmark = marks(("x86_64", "kcsan"))
