# SPDX-License-Identifier: GPL-2.0
"""usemem: write a lot of memory, free it. The figures most quoted for swap."""

from collections.abc import Mapping

from vswaplab.bench.suite import Metric, Room, Suite, answer, mb, timed, verified

_METRICS = (
    Metric("throughput", "MB/s", lower_is_better=False),
    Metric("free latency", "µs"),
    Metric("real", "s"),
    Metric("sys", "s"),
)


VERIFIED_TIMES = 1.25  # size of the run that reads back, as a multiple of the room


class Usemem(Suite):
    """``usemem --init-time -O -y -x -n N SIZE``, which only writes, as in the published figures.

    A second, smaller run, whose time does not count, reads back and verifies.
    """

    metrics = _METRICS

    def __init__(self, name: str, processes: int, times: float, published: str) -> None:
        self.name = name
        self.times = times
        self._processes = processes
        self.summary = f"write memory and free it, {processes} process{'es'[: processes * 2 - 2]} ({published})"

    def script(self, room: Room) -> str:
        """The timed run, then the verifying one."""
        options = f"--init-time -O -y -x -n {self._processes}"
        size = mb(self.working_set(room) // self._processes)
        smaller = mb(int(room.bytes * VERIFIED_TIMES) // self._processes)
        return f"""
begin
limited stopwatch --json=$RESULTS/time.json -- usemem {options} --json=$RESULTS/usemem.json {size}
finish
limited usemem {options} --read --json=$RESULTS/out.json {smaller} >/dev/null
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Throughput is the total of all processes, free latency the slowest one's."""
        time, run = timed(files), answer(files, "usemem.json")
        verified(files)
        return {
            "throughput": float(run["throughput_kb_s"]) / 1024,
            "free latency": float(run["free_us"]),
            "real": time["seconds"],
            "sys": time["sys_seconds"],
        }


ONE = Usemem("usemem1", 1, 1.75, "56 GB on a 32 GB host")
MANY = Usemem("usememN", 8, 1.5, "32 processes of 1536 MB on a 32 GB host")
