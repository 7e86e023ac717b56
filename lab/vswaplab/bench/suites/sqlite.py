# SPDX-License-Identifier: GPL-2.0
"""SQLite: read-only point queries with a page cache larger than memory."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from vswaplab.bench.suite import Metric, Room, Suite, verified
from vswaplab.guestprograms import sqlite_queries

# At 96 MB, after some 8,000 the kernel (mainline's as well) takes to reclaiming the program's own code, and
# what is measured is then how fast that is read again. Locked into memory, it leaves too little of it.
QUERIES = 6_000


class Sqlite(Suite):
    """Stands for ``sysbench oltp_read_only`` with a buffer pool larger than memory.

    The published pool is six times the group's memory (3 GB in 512 MB); with zswap alone no six times
    fit, whatever the kernel: it is 1.75 here, as usemem's.
    """

    name = "sqlite"
    summary = (
        "SQLite point queries, cache larger than memory (published: 3 GB pool in 512 MB, which zswap cannot hold)"
    )
    metrics = (Metric("queries", "1/s", lower_is_better=False), Metric("p99", "ms"))
    times = 1.75

    def script(self, room: Room) -> str:
        """The counters are those of the queries."""
        program = shlex.quote(str(Path(sqlite_queries.__file__).resolve()))
        python = f"{shlex.quote(sys.executable)} -I -S {program}"
        return f"""
rm -f /run/ready /run/go
limited {python} {self.working_set(room)} {QUERIES} /run/ready /run/go $RESULTS/out.json & server=$!
while [ ! -e /run/ready ]; do
  kill -0 $server 2>/dev/null || fail "the database could not be filled"
  sleep 0.1
done
begin
touch /run/go
wait $server || fail "the queries failed"
finish
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """The program's own figures."""
        found = verified(files)
        return {"queries": found["per_second"], "p99": found["p99_ms"]}


SUITE = Sqlite()
