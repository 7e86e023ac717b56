# SPDX-License-Identifier: GPL-2.0
"""The shell text around a suite's own: pressure, counters, and how a round fails."""

import shlex
from pathlib import Path

# Run before every suite's script. What the functions are for is in vswaplab.bench.suite.
PRELUDE = """
set -u
PATH={programs}:$PATH
SCRATCH={scratch}
now() {{ cut -d' ' -f1 /proc/uptime; }}
fail() {{ echo "$*" > $RESULTS/failed; exit 1; }}
counters() {{
  {{ sed 's/^/vmstat /' /proc/vmstat; sed 's/^/psi /' /proc/pressure/memory; sed -n '1s/^/stat /p' /proc/stat
  }} > $RESULTS/$1 2>/dev/null
}}
begin() {{ counters before; }}
finish() {{ counters after; }}
end() {{ [ -e $RESULTS/after ] || counters after; }}
trap end EXIT
"""

MEMCG = """
CG=/sys/fs/cgroup/bench
mkdir $CG && echo {limit} > $CG/memory.max || fail "no control group with a limit"
limited() {{ ( echo 0 > $CG/cgroup.procs && exec "$@" ); }}
"""
PLAIN = """
limited() { "$@"; }
"""
MGLRU = """
echo {value} > /sys/kernel/mm/lru_gen/enabled || fail "MGLRU cannot be switched"
"""
# zswap's own sum: the same share of the same pages.
ZRAM_LIMIT = """
limit=$(awk '/^MemTotal:/ {{ print int($2 * {percent} / 100) "K" }}' /proc/meminfo)
echo $limit > /sys/block/zram0/mem_limit || fail "zram cannot be limited"
"""
PAGE_CLUSTER = """
echo {value} > /proc/sys/vm/page-cluster || fail "vm.page-cluster cannot be set"
"""
# The device's pages are taken before anything is measured: they are no part of the RAM under pressure.
FILL_DEVICE = """
swapoff /dev/ram0 && dd if=/dev/urandom of=/dev/ram0 bs=1M oflag=direct >/dev/null 2>&1
mkswap /dev/ram0 >/dev/null && swapon /dev/ram0 || fail "the disk in RAM cannot be swapped to"
"""


def whole(
    text: str,
    *,
    programs: Path,
    scratch: str = "",
    limit: int | None = None,
    mglru: bool | None = None,
    page_cluster: int | None = None,
    fill_device: bool = False,
    zram_percent: int | None = None,
) -> str:
    """The script of a round.

    ``limit`` is memory.max in bytes, None for no group; ``zram_percent`` of RAM may be zram's, if there is one.
    """
    parts = [PRELUDE.format(programs=shlex.quote(str(programs)), scratch=shlex.quote(scratch))]
    parts.append(PLAIN if limit is None else MEMCG.format(limit=limit))
    if mglru is not None:
        parts.append(MGLRU.format(value="y" if mglru else "n"))
    if zram_percent is not None:
        parts.append(ZRAM_LIMIT.format(percent=zram_percent))
    if page_cluster is not None:
        parts.append(PAGE_CLUSTER.format(value=page_cluster))
    if fill_device:
        parts.append(FILL_DEVICE)
    return "".join([*parts, "begin\n", text])
