# SPDX-License-Identifier: GPL-2.0
"""memhog, of the package numactl: maps memory and sets it, several times as much as there is RAM."""

from collections.abc import Mapping

from vswaplab.bench.published import Posting
from vswaplab.bench.setup import ZSWAP
from vswaplab.bench.suite import Metric, Program, Room, Suite, mb, timed


class Memhog(Suite):
    """``memhog 48G`` on a host of 16 GB: three times the memory.

    The machine is told not to guess whether so much is there (vm.overcommit_memory=1): a kernel whose
    swap space has no size refuses one mapping of three times its RAM otherwise.

    It sets all bytes to the same value, which compresses to next to nothing, and reads nothing back:
    there is nothing to verify but that it came to its end.
    """

    name = "memhog"
    summary = "map and set memory (48 GB on a 16 GB host)"
    metrics = (Metric("real", "s"), Metric("sys", "s"))
    times = 3.0
    programs = (Program("memhog", "numactl"),)
    postings = (
        Posting("vswap v5", ("zram",), "global", {"real": (80.5, 83.0)}, mglru=True),
        Posting("v5 + two fixes", ("zram",), "global", {"real": (80.5, 79.9)}, mglru=True),
        Posting("v5 + fixes, per-CPU clusters", ("zram",), "global", {"real": (80.5, 79.9)}, mglru=True),
        Posting("table edition RFC v2, zstd", ZSWAP, "global", {"real": (107.56, 108.36)}, "2026-06-12"),
    )

    def script(self, room: Room) -> str:
        """One run."""
        return f"""
echo 1 > /proc/sys/vm/overcommit_memory
begin
limited stopwatch --json=$RESULTS/time.json -- memhog {mb(self.working_set(room))} > $RESULTS/said
finish
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Times of the process."""
        time = timed(files)
        return {"real": time["seconds"], "sys": time["sys_seconds"]}


SUITE = Memhog()
