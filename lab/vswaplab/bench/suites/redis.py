# SPDX-License-Identifier: GPL-2.0
"""Redis: GET requests while a third of the data is swapped out, and during BGSAVE."""

import csv
import io
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from vswaplab.bench.published import Posting
from vswaplab.bench.suite import Metric, Program, Room, Suite, Unverified, verified
from vswaplab.guestprograms import redis_client

ENTRY = 1200  # bytes of memory that Redis takes for a value of 1024: key, headers, the allocator's class
REQUESTS_PER_KEY = 0.3  # the published run makes one per key

# The client loads and, at the end, reads values back and compares them.
START = """
dir=/run/redis; mkdir -p $dir
{disk}
limited redis-server --port 0 --unixsocket /run/redis.sock --save '' --appendonly no --dir $dir \\
  --rdbcompression no --daemonize no > /run/redis.log 2>&1 & server=$!
tries=0
until [ -S /run/redis.sock ]; do
  tries=$((tries + 1))
  kill -0 $server 2>/dev/null && [ $tries -le 300 ] || fail "redis-server: $(tail -n 1 /run/redis.log)"
  sleep 0.1
done
client="{python} -I -S {client} /run/redis.sock"
$client load {keys} > /run/said 2>&1 || fail "loading: $(tail -n 1 /run/said)"
"""
MEASURE = """
redis-benchmark -s /run/redis.sock -r {keys} -n {requests} -d 1024 -c 12 -P 32 -t get --csv > $RESULTS/get.csv \\
  || fail "redis-benchmark failed"
"""
FINISH = """
$client check {keys} $RESULTS/out.json > /run/said 2>&1 || fail "checking: $(tail -n 1 /run/said)"
kill -KILL $server
"""
DISK = "mkfs.ext2 -q -F $SCRATCH && mount -t ext2 $SCRATCH $dir || fail 'no disk for the snapshot'"


class Redis(Suite):
    """``redis-benchmark -d 1024 -c 12 -P 32 -t get`` over 2560 MB in a machine of 1.5 GB.

    Keys are chosen at random among all. The server is in the group that is limited, the benchmark
    is not. Of this size there are published figures (swap table, phase II), but not of where the pages went.
    """

    name = "redis"
    summary = "redis-benchmark GET (2560 MB in a 1.5 GB machine)"
    metrics: tuple[Metric, ...] = (Metric("requests", "1/s", lower_is_better=False), Metric("p99", "ms"))
    times = 2560 / 1536
    per_key = REQUESTS_PER_KEY
    programs = (Program("redis-server", "redis-server"), Program("redis-benchmark", "redis-tools"))

    def _text(self, room: Room, disk: str, measure: str) -> str:
        keys = self.working_set(room) // ENTRY
        return (START + "begin\n" + measure + "finish\n" + FINISH).format(
            disk=disk, python=shlex.quote(sys.executable), keys=keys, requests=int(keys * self.per_key),
            client=shlex.quote(str(Path(redis_client.__file__).resolve())),
        )  # fmt: skip

    def script(self, room: Room) -> str:
        """Load, measure, check."""
        return self._text(room, ":", MEASURE)

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """redis-benchmark's own figures. Raises Unverified when it made no requests."""
        verified(files)
        rows = list(csv.DictReader(io.StringIO(files["get.csv"])))
        if len(rows) != 1 or float(rows[0]["rps"]) <= 0:
            raise Unverified("redis-benchmark reported nothing")
        return {"requests": float(rows[0]["rps"]), "p99": float(rows[0]["p99_latency_ms"])}


SAVING = """
redis-cli -s /run/redis.sock bgsave > /run/said || fail "BGSAVE: $(cat /run/said)"
"""
# The requests have to come while the snapshot is written: it is not waited for, but if it is over it
# has to have succeeded.
SAVED = """
state() { redis-cli -s /run/redis.sock info persistence | tr -d '\\r' | awk -F: -v k=$1 '$1 == k { print $2 }'; }
if [ "$(state rdb_bgsave_in_progress)" != 1 ] && [ "$(state rdb_last_bgsave_status)" != ok ]; then
  fail "BGSAVE failed: $(tail -n 2 /run/redis.log | tr '\\n' ' ')"
fi
"""
SAVING_REQUESTS = 0.1  # per key: fewer, for the snapshot to last until they are over


class RedisSaving(Redis):
    """The same while a forked child writes everything to a disk: swap counts are above one."""

    name = "redis-bgsave"
    summary = "the same during BGSAVE: swapped pages shared by two processes"
    scratch = 2 << 30
    per_key = SAVING_REQUESTS

    def script(self, room: Room) -> str:
        """The snapshot is started, then the requests come."""
        saved = SAVED.replace("{", "{{").replace("}", "}}")
        return self._text(room, DISK, SAVING + MEASURE + saved)


class Redis2G(Redis):
    """The same for 2560 MB in 2 GB, with ``-r`` and ``-n`` alike as published: a request for each key."""

    name = "redis-2g"
    summary = "redis-benchmark GET, a request per key (Valkey, 2560 MB in a 2 GB machine, zram)"
    times = 2560 / 2048
    per_key = 1.0
    setups = ("zswap", "zram")
    pressures = ("global",)
    postings = (
        Posting("swap table IV", ("zram",), "global", {"requests": (3_385_017, 3_433_309)}, "2026-05-17"),
    )


SUITES = (Redis(), RedisSaving(), Redis2G())
