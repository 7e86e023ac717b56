# SPDX-License-Identifier: GPL-2.0
"""The demonstration: twice the memory's size in checkable data, then Redis loaded beyond memory."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vswaplab.errors import UsageError
from vswaplab.guest import GuestResult
from vswaplab.guest.samples import working_set
from vswaplab.guestprograms import redis_client
from vswaplab.run.report import Verdict

SWAPCHECK_TIMES = 2.0  # its data, as a multiple of the memory given
REDIS_TIMES = 1.5
RESULT = "demo.json"  # what each program writes, in $RESULTS


@dataclass(frozen=True)
class Program:
    """Something to run in a guest; ``script`` gives its shell text for a memory size in bytes."""

    title: str
    script: Callable[[int], str]
    verdict: Callable[[GuestResult], Verdict]


def answer(result: GuestResult, name: str = RESULT) -> dict[str, Any]:
    """What a program wrote into its result file; empty if it did not get that far."""
    try:
        found = json.loads(result.files.get(name, "{}"))
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _verdict(result: GuestResult) -> Verdict:
    """The program's own word, and its exit code must agree; if it failed, what it got to."""
    found = answer(result)
    size = found.get("bytes")
    if found.get("verified") is True and result.exit_code == 0 and isinstance(size, int):
        return Verdict(size, True)
    return Verdict(working_set(result.samples), False)


def swapcheck(program: Path) -> Program:
    """Private memory of twice the machine's size, compressible 3:1, every byte verified."""

    def script(mem_bytes: int) -> str:
        size = int(mem_bytes * SWAPCHECK_TIMES) >> 20
        return f"exec {shlex.quote(str(program))} --size {size}M --ratio 3 --json=$RESULTS/{RESULT}\n"

    return Program("swapcheck", script, _verdict)


REDIS_SCRIPT = """
socket=/run/redis.sock
{server} --port 0 --unixsocket $socket --save '' --appendonly no --dir /run --daemonize no \\
    >/run/redis.log 2>&1 &
server=$!
tries=0
until [ -S $socket ]; do
    tries=$((tries + 1))
    if [ $tries -gt 200 ] || ! kill -0 $server; then
        cat /run/redis.log >&2
        exit 4
    fi
    sleep 0.1
done
# The server is the one that holds the data: should memory run out, it is to be the one.
echo 500 >/proc/$server/oom_score_adj
exec {python} -I -S {client} $socket documents {size} $RESULTS/{result}
"""


def redis() -> Program:
    """redis-server, loaded beyond memory and read back. Raises UsageError if it is not installed."""
    server = shutil.which("redis-server")
    if server is None:
        raise UsageError("redis-server is not installed (Debian: redis-server)")

    def script(mem_bytes: int) -> str:
        return REDIS_SCRIPT.format(
            server=shlex.quote(server or ""),
            python=shlex.quote(sys.executable),
            client=shlex.quote(str(Path(redis_client.__file__).resolve())),
            size=int(mem_bytes * REDIS_TIMES),
            result=RESULT,
        )

    return Program("redis-server", script, _verdict)


def programs(workloads: Path) -> list[Program]:
    """The demonstration, in order; ``workloads`` is the directory of the static guest programs."""
    return [swapcheck(workloads / "swapcheck"), redis()]
