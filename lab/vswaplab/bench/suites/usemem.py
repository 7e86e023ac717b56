# SPDX-License-Identifier: GPL-2.0
"""usemem: write a lot of memory, free it. The figures most quoted for swap."""

from collections.abc import Mapping, Sequence

from vswaplab.bench.suite import Metric, Room, Suite, answer, kb, timed, verified

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

    def __init__(
        self, name: str, processes: int, times: float, published: str, *,
        random: bool = False, setups: Sequence[str] = (), mglru: bool | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.times = times
        self._processes = processes
        self._options = f"--init-time -O -y -x -n {processes}{' -R' if random else ''}"
        self.setups = setups
        self.mglru = mglru
        self.summary = f"write memory and free it, {processes} process{'es'[: processes * 2 - 2]} ({published})"

    def script(self, room: Room) -> str:
        """The timed run, then the verifying one."""
        size = kb(self.working_set(room) // self._processes)
        smaller = kb(int(room.bytes * VERIFIED_TIMES) // self._processes)
        return f"""
begin
limited stopwatch --json=$RESULTS/time.json -- usemem {self._options} --json=$RESULTS/usemem.json {size}
finish
limited usemem {self._options} --read --json=$RESULTS/out.json {smaller} >/dev/null
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


# Of the last two we do not know the RAM: theirs is the ratio of the 32 processes.
SUITES = (
    Usemem("usemem1", 1, 1.75, "56 GB on a 32 GB host"),
    Usemem("usememN", 8, 1.5, "32 processes of 1536 MB on a 32 GB host"),
    Usemem("usemem48", 48, 1.5, "usemem -n 48 1G"),
    Usemem(
        "usemem52", 52, 1.5, "52 of 300 MB, random order, zram, MGLRU",
        random=True, setups=("zswap", "zram"), mglru=True,
    ),
)  # fmt: skip
