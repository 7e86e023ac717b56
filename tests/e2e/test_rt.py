# SPDX-License-Identifier: GPL-2.0
"""A kernel with PREEMPT_RT, where spinlocks sleep, and two nodes of memory."""

from tests.e2e.common import Boot
from tests.e2e.configured import DEVICES, SWAP_MODES, keeps_bytes, keeps_bytes_without_device, marks

pytestmark = marks(("x86_64", "rt"))


@DEVICES
def test_bytes(boot_guest: Boot, arch: str, flavour: str, swap: str, pool: int) -> None:
    keeps_bytes(boot_guest, arch, flavour, swap, pool)


@SWAP_MODES
def test_swapoff(boot_guest: Boot, arch: str, flavour: str, mode: str) -> None:
    keeps_bytes_without_device(boot_guest, arch, flavour, mode)
