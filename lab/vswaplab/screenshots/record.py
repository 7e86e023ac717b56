# SPDX-License-Identifier: GPL-2.0
"""What vswapctl writes to a terminal in a guest that is short of memory."""

import sys
from typing import Any

from vswaplab import paths
from vswaplab.build import workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import ToolError
from vswaplab.guest import GuestSpec, boot

COLUMNS = 80
COMMANDS = {"status": "status --interval 2", "top": "top --interval 0.5 --count 40"}
ROWS = {"status": 40, "top": 24}
# Two groups that work on more memory than there is: one of data that compresses, one of half of it that does
# not, so that zswap's pool fills and writes to the device.
SCRIPT = """
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
work() {{ # GROUP ARGUMENTS
  mkdir /sys/fs/cgroup/$1
  ( echo 0 > /sys/fs/cgroup/$1/cgroup.procs; shift
    exec swapcheck --seconds 60 --mode churn "$@" > /dev/null 2>&1 ) & loads="${{loads-}} $!"
}}
work browser --size 260M --text 30 --zero 15 --random 0
work build --size 120M --text 20 --random 50
while ! grep -q '^zswpwb [1-9]...' /proc/vmstat && kill -0 $loads 2> /dev/null; do sleep 0.2; done
{commands}
kill $loads
wait
"""
# Their terminal; script(1) is in every Debian.
WATCHED = (
    "TERM=xterm-256color script -eqc 'stty cols {columns} rows {rows}; {program} {words}' /dev/null"
    " > $RESULTS/{name} || exit 1"
)


def script() -> str:
    """The shell text of the guest."""
    program = f"{sys.executable} -B {paths.repo_root() / 'tools/bin/vswapctl'}"
    commands = (
        WATCHED.format(columns=COLUMNS, rows=ROWS[name], program=program, words=words, name=name)
        for name, words in COMMANDS.items()
    )
    return f"PATH={workloads.build()}:$PATH\n" + SCRIPT.format(commands="\n".join(commands))


def record(kernel: BuiltKernel) -> dict[str, str]:
    """What each command wrote, by its name. Raises ToolError if the guest does not end as it should."""
    machine: dict[str, Any] = {"mem_bytes": 256 << 20, "cpus": 2, "swap": "file:512M", "pool_percent": 25}
    result = boot(GuestSpec(kernel=kernel, script=script(), timeout=300.0, **machine))
    if result.status != "ok" or result.splats or set(result.files) < set(COMMANDS):
        raise ToolError(f"the guest: {result.status} {result.error or ''} {result.splats} {result.output}")
    return {name: result.files[name] for name in COMMANDS}
