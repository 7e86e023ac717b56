# SPDX-License-Identifier: GPL-2.0
"""vswapctl on mainline: it says that there is no virtual swap, and shows what there is."""

import json

import pytest

from tests.e2e.common import MIB, Boot, answer, fields, number
from tests.e2e.ctl import PRELUDE, said

pytestmark = pytest.mark.kernel("mainline", "um", "release")

# Some goes to the device only, and some to zswap, for which space is set aside on the device.
SWAPPED = (
    PRELUDE
    + """
on_device 16M; filled 40M; echo 16M > $CG/a/memory.reclaim
grep -E "^Zswap|^MemTotal" /proc/meminfo | tr -d : > $RESULTS/meminfo
keep vmstat /proc/vmstat; used > $RESULTS/used
said status ctl status; said json ctl status --json; said interval ctl status --interval 0.2
said doctor ctl doctor; said findings ctl doctor --json; said why ctl why $pid; said group ctl cgroup a --json
said nobody ctl why 4194303; said thread ctl why 2; said mode ctl mode; said set ctl mode auto
verified
"""
)


def test_a_device_and_zswap(boot_guest: Boot) -> None:
    result = boot_guest(SWAPPED, kernel="mainline", flavour="release", swap="file:64M", pool_percent=20)
    assert answer(result, "first.json")["verified"] is answer(result, "out.json")["verified"] is True
    for name in ("status", "json", "interval", "why", "group", "thread"):
        assert said(result, name).code == 0 and said(result, name).err == "", name
    meminfo = {line.split()[0]: int(line.split()[1]) << 10 for line in result.files["meminfo"].splitlines()}
    seen = json.loads(said(result, "json").out)
    assert seen["virtual_swap"] is None and seen["needs_root"] == []
    zswap, (device,) = seen["zswap"], seen["devices"]
    assert abs(zswap["stored_bytes"] - meminfo["Zswapped"]) <= MIB and meminfo["Zswapped"] > 4 * MIB
    assert abs(zswap["pool_bytes"] - meminfo["Zswap"]) <= MIB and zswap["pool_limit_percent"] == 20
    assert zswap["pool_limit_bytes"] == meminfo["MemTotal"] // 5 and zswap["counters"] is not None
    assert abs(device["used_bytes"] - number(result, "used") * 1024) <= MIB and device["used_bytes"] > 12 * MIB
    assert seen["pages_since_boot"]["zswpout"] >= fields(result, "vmstat")["zswpout"] > 1000
    assert not any(name.startswith("vswap") for name in seen["pages_since_boot"])
    text = said(result, "status").out
    assert "virtual swap: not in this kernel (CONFIG_VSWAP); what it offers:" in text and "zswap: on" in text
    assert device["name"] in text and "virtual slots" not in text and max(map(len, text.splitlines())) <= 80
    assert "rates:" in said(result, "interval").out


def test_why_and_doctor(boot_guest: Boot) -> None:
    """One line says that there is no virtual swap, in each; of the process there is what mainline counts."""
    result = boot_guest(SWAPPED, kernel="mainline", flavour="release", swap="file:64M", pool_percent=20)
    why = said(result, "why").out
    assert "(swapcheck)" in why and "of swap type 0" in why and "types of their own" not in why
    assert "without having been in zswap" in why
    assert "this kernel has no virtual swap" in why
    assert json.loads(said(result, "group").out)["stat_bytes"]["zswapped"] > 4 * MIB
    findings, doctor = json.loads(said(result, "findings").out), said(result, "doctor")
    assert any("no virtual swap (CONFIG_VSWAP): zswap needs a swap device" in note for note in findings["notes"])
    assert doctor.code == said(result, "findings").code == int(bool(findings["findings"])) and doctor.err == ""
    assert "note: this kernel has no virtual swap" in doctor.out
    assert "a kernel thread" in said(result, "thread").out
    assert said(result, "nobody").code == 2 and "no process 4194303" in said(result, "nobody").err
    for name in ("mode", "set"):
        assert said(result, name).code == 3 and "CONFIG_VSWAP=y" in said(result, name).err


BARE = (
    PRELUDE
    + """
said status ctl status; said json ctl status --json; said doctor ctl doctor; said why ctl why $$
"""
)


@pytest.mark.parametrize("zswap", [True, False])
def test_no_device(boot_guest: Boot, zswap: bool) -> None:
    """Nothing can be swapped out, whatever zswap's switch says, and that is said."""
    result = boot_guest(BARE, kernel="mainline", flavour="release", zswap=zswap, mem_bytes=128 * MIB)
    text, doctor = said(result, "status"), said(result, "doctor")
    assert text.code == 0 and "swap devices: none" in text.out and "not in this kernel (CONFIG_VSWAP)" in text.out
    assert ("zswap: on" if zswap else "zswap: off") in text.out
    seen = json.loads(said(result, "json").out)
    assert seen["devices"] == [] and seen["virtual_swap"] is None and seen["zswap"]["enabled"] is zswap
    assert doctor.code in (0, 1) and "there is no swap device: nothing can be swapped out" in doctor.out
    assert said(result, "why").code == 0 and "there is no swap device" in said(result, "why").out
