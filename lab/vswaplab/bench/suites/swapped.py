# SPDX-License-Identifier: GPL-2.0
"""What is done with memory that is swapped out: touching, forking, ending; and tmpfs."""

from collections.abc import Mapping

from vswaplab.bench.suite import Metric, Room, Suite, mb, verified

TOUCHES = 20_000  # pages; enough for a percentile of 99.9


class Touch(Suite):
    """Random first touches of pages that are swapped out, alternately reads and writes."""

    name = "touch"
    summary = "latency of touching swapped-out pages in random order"
    metrics = tuple(
        Metric(f"{kind} {label}", "µs") for kind in ("read", "write") for label in ("p50", "p90", "p99", "p99.9")
    )
    times = 1.75

    def script(self, room: Room) -> str:
        """All of it out, some of it touched; every touched page is compared."""
        return f"""
begin
limited swapped --mode touch --touches {TOUCHES} --json=$RESULTS/out.json {mb(self.working_set(room))}
finish
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Percentiles of the two kinds."""
        found = verified(files)
        labels = {"p50": "p50_us", "p90": "p90_us", "p99": "p99_us", "p99.9": "p99_9_us"}
        return {f"{kind} {label}": found[kind][key] for kind in ("read", "write") for label, key in labels.items()}


class Exit(Suite):
    """The end of a process that has everything swapped out."""

    name = "exit"
    summary = "end of a process whose memory is swapped out"
    metrics = (Metric("exit", "µs"),)
    times = 1.5

    def script(self, room: Room) -> str:
        """One process, timed from the word to end until its parent knows."""
        return f"limited swapped --mode exit --json=$RESULTS/out.json {mb(self.working_set(room))}\n"

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Microseconds."""
        return {"exit": verified(files)["exit_us"]}


class Fork(Suite):
    """fork() of a process that has everything swapped out: every entry's count goes up, and down again."""

    name = "fork"
    summary = "fork of a process whose memory is swapped out, and the child's end"
    metrics = (Metric("fork", "µs"), Metric("child's exit", "µs"))
    times = 1.0

    def script(self, room: Room) -> str:
        """Nine forks, and a tenth whose child reads."""
        size = mb(self.working_set(room))
        return f"limited swapped --mode fork --repeat 9 --json=$RESULTS/out.json {size}\n"

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Medians of the nine."""
        found = verified(files)
        return {"fork": found["fork_us"], "child's exit": found["child_exit_us"]}


class Tmpfs(Suite):
    """A file in tmpfs that is larger than RAM, written in sequence and read back."""

    name = "tmpfs"
    summary = "write a file larger than RAM to tmpfs, read it back, remove it"
    metrics = (
        Metric("write", "MB/s", lower_is_better=False),
        Metric("read", "MB/s", lower_is_better=False),
        Metric("remove", "µs"),
    )
    times = 1.5

    def script(self, room: Room) -> str:
        """Every byte that is read is compared."""
        size = mb(self.working_set(room))
        return f"""
begin
limited swapped --mode file --file /dev/shm/bench --json=$RESULTS/out.json {size}
finish
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Rates of the whole file."""
        found = verified(files)
        return {"write": found["write_mb_s"], "read": found["read_mb_s"], "remove": found["remove_us"]}


SUITES = (Touch(), Exit(), Fork(), Tmpfs())
