# SPDX-License-Identifier: GPL-2.0
"""A kernel with PREEMPT_RT, where spinlocks sleep, and two nodes of memory."""

from tests.e2e.configured import marks, test_bytes, test_swapoff

__all__ = ["test_bytes", "test_swapoff"]

pytestmark = marks(("x86_64", "rt"))
