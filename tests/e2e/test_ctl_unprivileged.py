# SPDX-License-Identifier: GPL-2.0
"""vswapctl without privileges: it shows what everybody may see, and says in a line what needs root."""

import json

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from tests.e2e.ctl import PROGRAM, said

# What nobody may run is copied to where nobody may read it. One process is root's, one is nobody's own.
SCRIPT = f"""
said() {{ n=$1; shift; "$@" > $RESULTS/$n.out 2> $RESULTS/$n.err; echo $? > $RESULTS/$n.code; }}
mkdir -p /run/n; cp -r {PROGRAM.parents[1]} /run/n/tools; cp $(command -v swapcheck) /run/n; chmod -R a+rwX /run/n
PATH=/usr/bin:/bin:/usr/sbin:/sbin; cd /run/n; unset PYTHONPATH
nobody() {{ setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }}
ctl() {{ nobody python3 -B /run/n/tools/bin/vswapctl "$@"; }}
group root; group own
fill() {{ /run/n/swapcheck --size 24M --text 40 --random 0 --passes 1 --ready-file /run/n/ready-$1 \\
  --wait-file /run/n/go --json > /run/n/$1.json; }}
(echo 0 > $CG/root/cgroup.procs; fill root) & a=$!
(echo 0 > $CG/own/cgroup.procs
 nobody sh -c '/run/n/swapcheck --size 24M --text 40 --random 0 --passes 1 --ready-file /run/n/ready-own \\
   --wait-file /run/n/go --json > /run/n/own.json') & b=$!
while [ ! -e /run/n/ready-root ] || [ ! -e /run/n/ready-own ]; do sleep 0.1; done
echo 12M > $CG/root/memory.reclaim; echo 12M > $CG/own/memory.reclaim
pid() {{ tail -n 1 $CG/$1/cgroup.procs; }}
awk '/^VmSwap/ {{ print $2 }}' /proc/$(pid own)/status > $RESULTS/swapped
said status ctl status; said json ctl status --json; said interval ctl status --interval 0.2
said own ctl why $(pid own); said other ctl why $(pid root); said init ctl why 1
said cgroup ctl cgroup own; said doctor ctl doctor; said export ctl export --groups 5
keep swaps /proc/swaps; keep pool $Z/max_pool_percent
[ ! -e $V ] || {{ keep mode $V/mode; said mode ctl mode; said set ctl mode never; keep mode.after $V/mode; }}
printf 'max_pool_percent = 7\\n' > /run/n/conf; chmod a+r /run/n/conf
said drain ctl drain $(device); said setup ctl setup --config /run/n/conf
keep swaps.after /proc/swaps; keep pool.after $Z/max_pool_percent
touch /run/n/go; wait $a; wait $b; cp /run/n/root.json /run/n/own.json $RESULTS
"""


@pytest.mark.parametrize(
    "kernel",
    [pytest.param(name, marks=pytest.mark.kernel(name, "um", "release")) for name in ("vswap", "mainline")],
)
def test_as_nobody(boot_guest: Boot, kernel: str) -> None:
    result = boot_guest(SCRIPT, kernel=kernel, flavour="release", swap="file:128M")
    assert answer(result, "root.json")["verified"] is True and answer(result, "own.json")["verified"] is True
    status, seen = said(result, "status"), json.loads(said(result, "json").out)
    assert (status.code, status.err) == (0, "") and said(result, "interval").code == 0
    assert "zswap counters (debugfs): needs root" in status.out
    of_root = ["/sys/kernel/mm/vswap/free_contiguous"] if kernel == "vswap" else []
    assert seen["needs_root"] == [*of_root, "/sys/kernel/debug"] and seen["zswap"]["counters"] is None
    assert seen["zswap"]["stored_bytes"] > 8 * MIB and len(seen["devices"]) == 1
    # Its own process: all but the positions in swap, which nobody but root is shown.
    assert number(result, "swapped") > 4096
    own, other = said(result, "own"), said(result, "other")
    assert (own.code, own.err, other.code, other.err) == (0, "", 0, "")
    assert "of which swap devices: needs root" in own.out and "needs root, or its owner" not in own.out
    assert "page tables                  needs root, or its owner" in other.out
    assert "with shared memory           needs root, or its owner" in other.out
    assert "swapped out, private" in other.out
    assert "zswap's reasons for not taking pages (debugfs): needs root" in own.out
    for name in ("init", "cgroup", "export"):
        assert said(result, name).code == 0, said(result, name)
    assert said(result, "doctor").code in (0, 1)
    # Nothing is changed, and each says with which command it would be.
    for name, command in (("drain", "sudo vswapctl drain"), ("setup", "sudo vswapctl setup")):
        assert said(result, name).code == 3 and command in said(result, name).err, said(result, name)
    assert result.files["pool"] == result.files["pool.after"]
    assert len(result.files["swaps"].splitlines()) == len(result.files["swaps.after"].splitlines()) == 2
    if kernel == "vswap":
        assert said(result, "mode").code == 0 and said(result, "mode").out == result.files["mode"]
        assert said(result, "set").code == 3 and "sudo vswapctl mode never" in said(result, "set").err
        assert result.files["mode"] == result.files["mode.after"]
