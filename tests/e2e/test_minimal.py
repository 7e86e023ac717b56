# SPDX-License-Identifier: GPL-2.0
"""A kernel without memory control groups, second processor, tracing and MGLRU."""

from tests.e2e.configured import marks, test_bytes, test_swapoff

__all__ = ["test_bytes", "test_swapoff"]

pytestmark = marks(("um", "minimal"), ("x86_64", "minimal"))
