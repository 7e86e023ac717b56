# SPDX-License-Identifier: GPL-2.0
"""vswapctl in a guest: how scripts run it, and what it said there."""

import sys
from pathlib import Path
from typing import NamedTuple

from vswaplab.guest import GuestResult

PROGRAM = Path(__file__).resolve().parents[2] / "tools/bin/vswapctl"
PYTHON = f"{sys.executable} -B"  # the one that runs the tests: it has what top needs

# said NAME COMMAND...: its output, errors and exit code are kept. filled SIZE: a process of group a has so much,
# and waits; verified: it checks it all. on_device SIZE, before that: the memory of another process is swapped out
# without zswap. While a slow device writes, reclaim goes on to all that there is.
PRELUDE = f"""
ctl() {{ python3 {PROGRAM} "$@"; }}
said() {{ n=$1; shift; "$@" > $RESULTS/$n.out 2> $RESULTS/$n.err; echo $? > $RESULTS/$n.code; }}
filled() {{
  group a
  in_group a swapcheck --size $1 --text 40 --random 0 --ready-file /run/ready --wait-file /run/go --passes 1 \\
    --json > $RESULTS/out.json & load=$!
  while [ ! -e /run/ready ] && kill -0 $load; do sleep 0.1; done
  pid=$(tail -n 1 $CG/a/cgroup.procs)
}}
on_device() {{
  echo N > $Z/enabled; group a
  in_group a swapcheck --size $1 --text 40 --random 0 --ready-file /run/first --wait-file /run/go --passes 1 \\
    --json > $RESULTS/first.json & first=$!
  while [ ! -e /run/first ] && kill -0 $first; do sleep 0.1; done
  echo $1 > $CG/a/memory.reclaim; echo Y > $Z/enabled
}}
verified() {{ touch /run/go; wait $load ${{first:-}}; }}
"""


class Said(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


def said(result: GuestResult, name: str) -> Said:
    """Of the script's "said NAME"; never a traceback, and an error is one line."""
    found = Said(int(result.files[f"{name}.code"]), result.files[f"{name}.out"], result.files[f"{name}.err"])
    assert "Traceback" not in found.out + found.err, found
    assert found.err == "" or found.err.startswith("vswapctl: ") and found.err.count("\n") == 1, found
    return found


def in_guest(name: str) -> str:
    """A Python program of the tests that runs in the guest."""
    return f"{PYTHON} {Path(__file__).with_name(f'{name}_in_guest.py')}"
