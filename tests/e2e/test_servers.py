# SPDX-License-Identifier: GPL-2.0
"""What servers say of the machine's swap when they start, and what one mapping may have: docs/monitoring.md."""

import re
from pathlib import Path

import pytest

from tests.e2e.common import Boot
from tests.e2e.others import both, each_machine, machine, meminfo, needs

REDIS = """
echo 0 > /proc/sys/vm/overcommit_memory
redis-server --port 0 --unixsocket /run/redis.sock --save '' --dir /tmp > $RESULTS/log 2>&1 & server=$!
i=0; while [ ! -S /run/redis.sock ] && [ $i -lt 100 ]; do sleep 0.2; i=$((i + 1)); done
redis-cli -s /run/redis.sock ping > $RESULTS/answer
kill $server; wait $server
"""


@both
@each_machine
def test_redis_says_nothing_of_swap(boot_guest: Boot, name: str) -> None:
    needs("redis-server", "redis-server")
    needs("redis-cli", "redis-tools")
    result = boot_guest(REDIS, **machine(name))
    log = result.files["log"]
    assert result.files["answer"].strip() == "PONG", log
    # words that contain it do not count
    assert "vm.overcommit_memory = 1" in log and not re.search(r"(?i)\bswap", log)


POSTGRES = """
echo {overcommit} > /proc/sys/vm/overcommit_memory
as() {{ setpriv --reuid postgres --regid postgres --clear-groups env LC_ALL=C "$@"; }}
mkdir -m 777 /run/pg; cd /tmp
as {bin}/initdb -D /tmp/data -A trust --no-sync > /run/initdb 2>&1 || {{ cat /run/initdb; exit 1; }}
as {bin}/postgres -D /tmp/data -k /run/pg -h '' > $RESULTS/log 2>&1 & server=$!
i=0
while ! as {bin}/pg_isready -q -h /run/pg && [ $i -lt 100 ]; do sleep 0.5; i=$((i + 1)); done
as {bin}/psql -h /run/pg -At -c 'select 6 * 7' postgres > $RESULTS/answer 2>&1
kill -INT $(head -n 1 /tmp/data/postmaster.pid); wait $server
"""


@both
@each_machine
def test_postgresql_says_nothing_of_swap(boot_guest: Boot, name: str) -> None:
    where = Path(needs("initdb", "postgresql-15")).resolve().parent
    result = boot_guest(POSTGRES.format(bin=where, overcommit=0), **machine(name))
    assert "log" in result.files, result.output
    log = result.files["log"]
    assert result.files["answer"].strip() == "42", log
    assert not re.search(r"(?i)swap|WARNING|HINT", log), log


OVERCOMMIT = """
take() { python3 -c '
import mmap, sys
try:
    mmap.mmap(-1, int(sys.argv[1]) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
except OSError:
    print("refused")
else:
    print("taken")
' $1; }
for mode in 0 2; do
  echo $mode > /proc/sys/vm/overcommit_memory
  for size in 160 500 600; do take $size > $RESULTS/$mode.$size; done
done
keep meminfo /proc/meminfo
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("name", ["none", "small device"])
def test_overcommit(boot_guest: Boot, name: str) -> None:
    """Mode 0 counts twice the limit of the pool, the strict mode 2 nothing of it."""
    result = boot_guest(OVERCOMMIT, **machine(name))
    said = {key: result.files[key].strip() for key in result.files if key[:2] in ("0.", "2.")}
    memory = meminfo(result)
    assert memory["CommitLimit"] - memory["SwapTotal"] == pytest.approx(memory["MemTotal"] / 2, rel=0.02)
    assert said["2.500"] == said["2.600"] == "refused"
    if name == "none":
        assert said["2.160"] == "refused" and said["0.600"] == "taken"
    else:
        assert (said["0.160"], said["0.500"], said["0.600"]) == ("taken", "taken", "refused")
