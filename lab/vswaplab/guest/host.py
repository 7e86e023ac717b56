# SPDX-License-Identifier: GPL-2.0
"""How the host served a machine: what a stall in the guest is read beside."""

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
# The first line's figures.
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def _times(text: str) -> dict[str, int]:
    """What all CPUs together spent on what, in ticks."""
    return {name: int(figure) for name, figure in zip(FIELDS, text.split()[1:], strict=False)}


class HostWatch:
    """Told regularly, it knows for how long the host let nobody look, and what it had for this machine.

    A guest in which nothing moved while its host stood still, or was a guest without its CPUs itself, has
    complained of its host.
    """

    def __init__(self, stat: Path = STAT) -> None:
        self._stat = stat
        self._start = _times(stat.read_text())
        self._last = time.monotonic()
        self._longest = 0.0

    def look(self) -> None:
        """Said at every look at the machine."""
        now = time.monotonic()
        self._longest, self._last = max(self._longest, now - self._last), now

    def __str__(self) -> str:
        spent = {name: ticks - self._start[name] for name, ticks in _times(self._stat.read_text()).items()}
        total = max(1, sum(spent.values()))
        return (
            f"host: {spent['idle'] / total:.0%} idle, {spent['iowait'] / total:.0%} waiting for I/O,"
            f" {spent['steal'] / total:.0%} stolen, load {os.getloadavg()[0]:.1f},"
            f" {self._longest:.1f} s between two looks at most"
        )
