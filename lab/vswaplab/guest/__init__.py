# SPDX-License-Identifier: GPL-2.0
"""Boot a small machine, run a script in it, and say as data how that went."""

from vswaplab.guest.boot import boot
from vswaplab.guest.samples import Counters, Sample
from vswaplab.guest.spec import GuestResult, GuestSpec, Swap, parse_swap

__all__ = ["Counters", "GuestResult", "GuestSpec", "Sample", "Swap", "boot", "parse_swap"]
