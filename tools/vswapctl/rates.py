# SPDX-License-Identifier: GPL-2.0
"""Events of /proc/vmstat, and how many of them there are in a second."""

import time

from vswapctl.errors import CannotRead
from vswapctl.kernel import Kernel

# In pages, in the order in which they are shown.
EVENTS = {
    "zswpout": "into zswap",
    "zswpin": "out of zswap",
    "zswpwb": "from zswap to devices",
    "pswpout": "to devices, all",
    "pswpin": "from devices",
    "swpout_zero": "zero pages out",
    "swpin_zero": "zero pages in",
    "vswap_alloc": "slots allocated",
    "vswap_free": "slots freed",
    "vswap_evacuate": "moved by swapoff",
}
# No pages: each time that reclaim meets what does not compress and has no device.
ATTEMPTS = {"vswap_refuse": "refused: does not compress"}


def known(vmstat: dict[str, int]) -> dict[str, int]:
    """Those events that this kernel counts, in pages."""
    return {name: vmstat[name] for name in EVENTS if name in vmstat}


def attempts(vmstat: dict[str, int]) -> dict[str, int]:
    """Those attempts that this kernel counts."""
    return {name: vmstat[name] for name in ATTEMPTS if name in vmstat}


def between(before: dict[str, int], after: dict[str, int], elapsed: float) -> dict[str, float]:
    """Events and attempts a second; a counter that went backwards (another machine's files) counts as 0."""
    if elapsed <= 0:
        return {}
    return {
        name: max(0, after[name] - before[name]) / elapsed
        for name in (*EVENTS, *ATTEMPTS)
        if name in after and name in before
    }


def measure(kernel: Kernel, interval: float) -> dict[str, float]:
    """Events a second over an interval, in seconds, from now."""
    before, start = kernel.table("/proc/vmstat"), time.monotonic()
    if not before:
        raise CannotRead(f"cannot read {kernel.path('/proc/vmstat')}: leave --interval out")
    time.sleep(interval)
    return between(before, kernel.table("/proc/vmstat"), time.monotonic() - start)
