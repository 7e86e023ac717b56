# SPDX-License-Identifier: GPL-2.0
"""A kernel that is preempted nearly anywhere, without huge pages."""

from tests.e2e.configured import marks, test_bytes, test_swapoff

__all__ = ["test_bytes", "test_swapoff"]

pytestmark = marks(("x86_64", "preempt"))
