# SPDX-License-Identifier: GPL-2.0
"""usemem: write a lot of memory, free it. The figures most quoted for swap."""

from collections.abc import Mapping

from vswaplab.bench.published import Posting
from vswaplab.bench.setup import ZSWAP
from vswaplab.bench.suite import FOLIOS_64K, Metric, Room, Suite, answer, kb, timed, verified

_METRICS = (
    Metric("throughput", "MB/s", lower_is_better=False),
    Metric("free latency", "µs"),
    Metric("real", "s"),
    Metric("sys", "s"),
)
_MS = 1000  # µs; free latencies are published in both

VERIFIED_TIMES = 1.25  # size of the run that reads back, as a multiple of the room


class Usemem(Suite):
    """``usemem OPTIONS -n PROCESSES SIZE``, which only writes, as in the published figures.

    A second, smaller run, whose time does not count, reads back and verifies.
    """

    metrics = _METRICS
    processes: int
    options = "--init-time -O -y -x"
    first = ""  # shell text that runs first

    def script(self, room: Room) -> str:
        """The timed run, then the verifying one."""
        options = f"{self.options} -n {self.processes}"
        size = kb(self.working_set(room) // self.processes)
        smaller = kb(int(room.bytes * VERIFIED_TIMES) // self.processes)
        return f"""{self.first}
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


class Usemem1(Usemem):
    """One process."""

    name = "usemem1"
    summary = "write memory and free it, 1 process (56 GB on a 32 GB host)"
    processes = 1
    times = 56 / 32
    postings = (
        Posting(
            "swap table III", ("pmem",), "global",
            {"throughput": (618.49, 642.02), "free latency": (5_754_780, 5_728_544)},
        ),
        Posting(
            "vswap v3", ("pmem",), "global",
            {"throughput": (618.49, 598.67), "free latency": (5_754_780, 13_987_176)},
        ),
        Posting(
            "table edition RFC v2, zstd", ZSWAP, "global",
            {"throughput": 1.002, "free latency": (7821 * _MS, 6646 * _MS)}, "2026-06-12",
        ),
    )  # fmt: skip


class Usemem1Random(Usemem):
    """As usemem1, in random order: neighbours in the table were swapped out at different times.

    ``usemem52`` is like that as well, but its processes wait for each other, and the slowest free tells little.
    """

    name = "usemem1-random"
    summary = "write memory in random order and free it, 1 process (size as usemem1)"
    processes = 1
    options = "--init-time -O -y -x -R"
    times = Usemem1.times


class UsememN(Usemem):
    """Published for 32 processes."""

    name = "usememN"
    summary = "write memory and free it, 8 processes (32 processes of 1536 MB on a 32 GB host)"
    processes = 8
    times = 32 * 1536 / (32 << 10)
    postings = (Posting("vswap v3", ("pmem",), "global", {"free latency": (2_153_736, 2_583_222)}),)


class Usemem30(Usemem):
    """Published with options that our program does not have: -w, -b 1, -s 10; and a group's memory.high.

    lz4 makes half of these pages: twice the RAM is too much for zswap alone, so there is a disk as in theirs.
    """

    name = "usemem30"
    summary = "write memory and free it, 30 processes, folios of 64 KB (30 of 10 GB in 150 GB, x86_64)"
    processes = 30
    options = "--init-time -O"
    times = 30 * 10 / 150
    first = FOLIOS_64K
    setups = ("zswap-disk",)
    without = ("zswap", "zram")
    pressures = ("memcg",)
    arches = ("x86_64",)
    postings = (
        Posting(
            "zswap batching v14, zstd", ("zswap-disk",), "memcg",
            {"throughput": (6_032_326 / 1024, 6_047_448 / 1024), "real": (97.52, 95.33)}, "2026-01-25",
            page_cluster=0,
        ),
    )  # fmt: skip


class Usemem48(Usemem):
    """Published with 48 GB of RAM disk beside 16 GB of RAM: too much for compressed memory alone."""

    name = "usemem48"
    summary = "write memory and free it, 48 processes (48 of 1 GB on a 16 GB host, RAM disk)"
    processes = 48
    times = 48 / 16
    setups = ("pmem", "disk")
    without = ("zswap", "zram")
    postings = (
        Posting(
            "swap table IV", ("pmem",), "global",
            {"throughput": (6482.58, 6539.28), "free latency": (371_372, 363_060)}, "2026-05-17",
        ),
    )  # fmt: skip


class Usemem52(Usemem):
    """Published for a working set a little smaller than the RAM: a group with that limit would not swap at all.

    Their throughput is that of one process.
    """

    name = "usemem52"
    summary = "write memory and free it, 52 processes, random order (52 of 300 MB on a 16 GB host, zram, MGLRU)"
    processes = 52
    options = "--init-time -O -y -x -R"
    times = 52 * 300 / (16 << 10)
    setups = ("zswap", "zram")
    pressures = ("global",)
    mglru = True
    postings = tuple(
        Posting(
            source, ("zram",), "global",
            {
                "real": (14.98, real), "sys": (396, system),
                "throughput": (28_188 / 1024, throughput / 1024), "free latency": (101.1 * _MS, free * _MS),
            },
            "2026-05-05", mglru=True,
        )
        for source, real, system, throughput, free in (
            ("vswap v5", 18.33, 512, 23_287, 91.4),
            ("vswap v6", 14.82, 391, 28_765, 98.7),
        )
    )  # fmt: skip


SUITES = (Usemem1(), Usemem1Random(), UsememN(), Usemem30(), Usemem48(), Usemem52())
