# SPDX-License-Identifier: GPL-2.0
"""Kernels that are configured in another way.

minimal has no memory control groups, second processor, tracing or MGLRU; preempt is preempted nearly
anywhere and has no huge pages; rt has spinlocks that sleep, and two nodes of memory.
"""

from tests.e2e.common import Boot
from tests.e2e.configured import DEVICES, SWAP_MODES, keeps_bytes, keeps_bytes_without_device, marks

pytestmark = marks(("um", "minimal"), ("x86_64", "minimal"), ("x86_64", "preempt"), ("x86_64", "rt"))


@DEVICES
def test_bytes(boot_guest: Boot, arch: str, flavour: str, swap: str, pool: int) -> None:
    keeps_bytes(boot_guest, arch, flavour, swap, pool)


@SWAP_MODES
def test_swapoff(boot_guest: Boot, arch: str, flavour: str, mode: str) -> None:
    keeps_bytes_without_device(boot_guest, arch, flavour, mode)
