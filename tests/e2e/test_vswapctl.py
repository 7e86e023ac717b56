# SPDX-License-Identifier: GPL-2.0
"""vswapctl on a kernel with virtual swap: what it shows is what the kernel counts, and drain moves it."""

from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, fields, number

PROGRAM = Path(__file__).resolve().parents[2] / "tools/bin/vswapctl"

# 6 MB or more go to the device, then to zswap. The process waits while it is looked at.
SCRIPT = f"""
ctl() {{ python3 {PROGRAM} "$@"; }}
dev=$(device); group a; echo N > $Z/enabled
in_group a swapcheck --size 32M --text 40 --ready-file /run/ready --wait-file /run/go --passes 1 \\
  --json > $RESULTS/out.json &
while [ ! -e /run/ready ]; do sleep 0.1; done
pid=$(head -n 1 $CG/a/cgroup.procs)
push() {{ i=0; while [ $(cat $V/$1) -lt 1500 ] && [ $((i+=1)) -le 5 ]; do echo 8M > $CG/a/memory.reclaim; done; }}
push physical; echo Y > $Z/enabled; push zswap
for name in zero zswap physical cached slots_used; do keep $name $V/$name; done
ctl status --json > $RESULTS/status.json; ctl status > $RESULTS/status
ctl cgroup a --json > $RESULTS/cgroup.json; keep stat $CG/a/memory.stat
ctl why $pid > $RESULTS/why; ctl export --groups 5 > $RESULTS/metrics
ctl doctor --json > $RESULTS/doctor.json; echo $? > $RESULTS/doctor.code
ctl mode never > $RESULTS/never; keep never.kernel $V/mode; ctl mode always > /dev/null
ctl drain $dev > $RESULTS/drain; echo $? > $RESULTS/drain.code
wc -l < /proc/swaps > $RESULTS/swaps; keep physical.after $V/physical
swapon $dev; touch /run/go; wait
"""


@pytest.mark.kernel("vswap", "um", "debug")
def test_on_virtual_swap(boot_guest: Boot) -> None:
    result = boot_guest(SCRIPT, swap="file:64M", mode="always", cpus=1)
    assert answer(result, "out.json")["verified"] is True
    virtual = answer(result, "status.json")["virtual_swap"]
    for key, name in (("zero", "zero"), ("zswap", "zswap"), ("device", "physical"), ("cached", "cached")):
        assert abs(virtual[f"{key}_bytes"] - number(result, name) * 4096) <= MIB, key
    assert virtual["device_bytes"] > 4 * MIB and virtual["zswap_bytes"] > 4 * MIB
    group, stat = answer(result, "cgroup.json"), fields(result, "stat")
    assert group["stat_bytes"]["zswapped"] == stat["zswapped"] and group["stat_bytes"]["vswap_tables"] > 0
    assert "without having been in zswap" in result.files["why"] and "of swap type 0" in result.files["why"]
    assert f'vswap_slot_bytes{{backing="device"}} {number(result, "physical") * 4096}' in result.files["metrics"]
    assert number(result, "doctor.code") in (0, 1) and "notes" in answer(result, "doctor.json")
    assert result.files["never.kernel"].strip() == "never"
    assert number(result, "drain.code") == 0, result.files["drain"]
    assert number(result, "swaps") == 1 and number(result, "physical.after") == 0
