# SPDX-License-Identifier: GPL-2.0
"""vswapctl cgroup, why and mode."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran, refuse_to_open
from vswapctl import cgroups
from vswapctl.kernel import Kernel

MIB = fakes.MIB


@pytest.mark.parametrize(
    "path", ["user.slice/shell", "/user.slice/shell", "/sys/fs/cgroup/user.slice/shell/", "user.slice//x/../shell"]
)
def test_cgroup(ours: Path, ctl: Ran, path: str) -> None:
    code, out, err = ctl(ours, "cgroup", path, "--json")
    assert (code, err) == (0, "")
    seen = json.loads(out)
    assert seen["group"] == "/user.slice/shell"
    assert seen["current"]["memory.swap.current"] == 6 * MIB
    assert seen["stat_bytes"]["vswap_tables"] == 4096 and seen["stat_bytes"]["vswap_refused"] == 8192
    assert seen["limits"]["memory.swap.max"] == "max" and seen["limits"]["memory.zswap.max"] == 40 * MIB
    # its own zswap has 10 MB left, swap is held up by the group above: 46 MB
    assert [(hold["group"], hold["file"], hold["left"] // MIB) for hold in seen["holds"]] == [
        ("/user.slice/shell", "memory.zswap.max", 10), ("/user.slice", "memory.swap.max", 46)
    ]  # fmt: skip


def test_cgroup_text(ours: Path, ctl: Ran) -> None:
    code, out, _ = ctl(ours, "cgroup", "user.slice/shell")
    assert code == 0 and max(map(len, out.splitlines())) <= 100
    for text in ("refused, in RAM", "tables of slots", "left    46.0 MB  /user.slice", "stays in RAM"):
        assert text in out, out
    assert ctl(ours, "cgroup", "/")[1].splitlines()[0] == "group /"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"memory_swap_max": 0}, "memory.swap.max of /g is 0: it is not swapped; a limit in its memory.zswap.max"),
        ({"memory_swap_max": 0, "memory_zswap_max": MIB}, "zswap may be used, and no device"),
        ({"memory_swap_max": 0, "memory_zswap_max": 0}, "memory.zswap.max of /g is 0: nothing goes to zswap"),
        ({"memory_swap_max": MIB}, "/g has reached its memory.swap.max"),
        ({"memory_zswap_max": 0}, "memory.zswap.max of /g is 0: nothing goes to zswap"),
    ],
)
def test_what_limits_mean(ours: Path, ctl: Ran, limits: dict[str, Any], text: str) -> None:
    fakes.write(ours, fakes.group("/g", swap=1, **limits))
    assert text in ctl(ours, "cgroup", "g")[1]


@pytest.mark.parametrize(
    ("above", "own", "zswap", "text"),
    [
        # Two that are reached: the one of 0 says more.
        ({"memory_swap_max": 0}, {"memory_swap_max": MIB}, "Y", "/g is 0: it is not swapped; a limit in its"),
        ({"memory_zswap_max": 0}, {"memory_zswap_max": MIB}, "Y", "/g is 0: nothing goes to zswap\n"),
        # All that zswap needs, but zswap.
        ({}, {"memory_swap_max": 0, "memory_zswap_max": 64 * MIB}, "N",
         "memory.swap.max of /g/in is 0: it is not swapped while zswap is off\n"),
        ({"memory_zswap_max": 0}, {"memory_swap_max": 0, "memory_zswap_max": 64 * MIB}, "Y",
         "/g/in is 0: it is not swapped\nnote: memory.zswap.max of /g is 0: nothing goes to zswap\n"),
    ],
)  # fmt: skip
def test_limits_together(
    ours: Path, ctl: Ran, above: dict[str, Any], own: dict[str, Any], zswap: str, text: str
) -> None:
    """What one limit allows another, or zswap's switch, may not."""
    groups = {**fakes.group("/g", 2, 2, **above), **fakes.group("/g/in", 1, 1, **own)}
    fakes.write(ours, {**fakes.zswap(zswap), **groups})
    out = ctl(ours, "cgroup", "g/in")[1]
    assert text in out and "may be used" not in out and "has reached" not in out, out


def test_each_group_above_must_allow_zswap(ours: Path, ctl: Ran) -> None:
    """A limit of the group's own says nothing about the one above it."""
    fakes.write(ours, fakes.group("/g", memory_swap_max=0))
    fakes.write(ours, fakes.group("/g/in", memory_swap_max=0, memory_zswap_max=MIB))
    assert "memory.swap.max of /g is 0: it is not swapped; a limit" in ctl(ours, "cgroup", "g/in")[1]
    fakes.write(ours, fakes.group("/g", memory_swap_max=0, memory_zswap_max=2 * MIB))
    assert "zswap may be used, and no device" in ctl(ours, "cgroup", "g/in")[1]


def test_limits_in_mode_never(ours: Path, ctl: Ran) -> None:
    """As on mainline: a page in zswap needs space on a device."""
    fakes.write(ours, fakes.group("/g", memory_swap_max=0, memory_zswap_max=MIB))
    fakes.write(ours, {"/sys/kernel/mm/vswap/mode": "never\n"})
    out = ctl(ours, "cgroup", "g")[1]
    assert "nothing of it is swapped, not to zswap either" in out and "may be used" not in out
    fakes.write(ours, fakes.group("/g", 1, memory_swap_max=MIB))
    text = "/g has reached its memory.swap.max: no more is swapped, not to zswap either"
    assert text in ctl(ours, "cgroup", "g")[1]


def test_writeback_that_the_root_forbids(ours: Path, ctl: Ran) -> None:
    """It has no other of these files."""
    text = "of / is 0: while zswap is on nothing goes to a device, and what zswap does not take stays in RAM"
    assert json.loads(ctl(ours, "cgroup", "user.slice", "--json")[1])["writeback_off_by"] is None
    fakes.write(ours, {"/sys/fs/cgroup/memory.zswap.writeback": 0})
    assert json.loads(ctl(ours, "cgroup", "user.slice", "--json")[1])["writeback_off_by"] == "/"
    for words in (["cgroup", "user.slice"], ["cgroup", "/"], ["why", "77"]):
        assert f"note: memory.zswap.writeback {text}\n" in ctl(ours, *words)[1]


def test_why_in_a_group_without_the_controller(ours: Path, ctl: Ran) -> None:
    """The group above pays, and has the counters."""
    fakes.write(ours, {
        "/sys/fs/cgroup/user.slice/shell/a/b/cgroup.controllers": "pids\n",
        **fakes.process(78, "in", "/user.slice/shell/a/b", VmSize=9000),
    })  # fmt: skip
    out = ctl(ours, "why", "78")[1]
    assert "group /user.slice/shell\n" in out and "of its group went to a device" in out
    assert "note: it is in /user.slice/shell/a/b, without the memory controller: this group pays\n" in out
    assert "without the memory controller" not in ctl(ours, "why", "77")[1]


def test_limits_on_mainline(tmp_path: Path, ctl: Ran) -> None:
    root = fakes.mainline_zswap(tmp_path)
    fakes.write(root, fakes.group("/g", memory_swap_max=0))
    fakes.write(root, {"/sys/fs/cgroup/g/memory.zswap.writeback": 0})
    out = ctl(root, "cgroup", "g")[1]
    assert "nothing of it is swapped, not to zswap either" in out and "memory.zswap.writeback of /g is 0" in out


@pytest.mark.parametrize("path", ["nonsense", "../../etc", "user.slice/\0", "user.slice/memory.stat"])
def test_no_such_group(ours: Path, ctl: Ran, path: str) -> None:
    code, out, err = ctl(ours, "cgroup", path)
    assert (code, out) == (2, "") and "no control group" in err and err.count("\n") == 1


def test_no_cgroup2(tmp_path: Path, ctl: Ran) -> None:
    code, _, err = ctl(fakes.no_swap(tmp_path), "cgroup", "user.slice")
    assert code == 3 and "cgroup v2" in err


def test_usages_are_without_inner_groups(ours: Path) -> None:
    found = cgroups.usages(Kernel(str(ours)), "/sys/fs/cgroup")
    assert [(usage.group, usage.swap // MIB, usage.zswap // MIB) for usage in found] == [
        ("/user.slice", 12, 60), ("/user.slice/shell", 6, 30), ("/system.slice", 2, 10)
    ]  # fmt: skip


def test_deep_groups(ours: Path, ctl: Ran) -> None:
    """Whoever nests groups without end does not stop the tool."""
    name = "/deep"
    for _ in range(300):
        name += "/a"
    fakes.write(ours, fakes.group(name, memory_swap_max=0))
    for words in (["export", "--groups", "9"], ["doctor"], ["cgroup", name]):
        code, _, err = ctl(ours, *words)
        assert (code, err) == (0, ""), words


def test_why(ours: Path, ctl: Ran) -> None:
    code, out, err = ctl(ours, "why", "77")
    assert (code, err) == (0, "")
    for text in (
        "process 77 (shell)", "swap entries in page tables 12.0 KB", "of swap type 0 8.0 KB",
        "of swap type 1 4.0 KB", "were written back since", "1.6 MB",
        "2.3 MB of its group went to a device without", "44 pages not taken: they do not compress",
        "what cannot be known", "group /user.slice/shell",
    ):  # fmt: skip
        assert text in " ".join(out.split()), (text, out)


def test_writes_that_are_overtaken(ours: Path, ctl: Ran) -> None:
    """They count as writes to a device, not as ones from zswap; and nobody counts those of one group."""
    assert "\n  2.3 MB of its group went to a device without having been in zswap" in ctl(ours, "why", "77")[1]
    stat = (ours / "proc/vmstat").read_text().replace("vswap_overtake 0", "vswap_overtake 600")
    fakes.write(ours, {"/proc/vmstat": stat})
    out = ctl(ours, "why", "77")[1]
    assert "\n  up to 2.3 MB of its group went to a device without having been in zswap" in out
    assert "(pages in use again while they were written count here)\n" in out


def test_a_pool_that_is_nearly_full(ours: Path, ctl: Ran) -> None:
    """With nowhere to write back to it takes pages all the same."""
    fakes.write(ours, {"/proc/meminfo": fakes.meminfo(pool=1900, stored=5000)})
    assert "takes nothing before it shrinks" in ctl(ours, "why", "77")[1]
    fakes.write(ours, {"/proc/swaps": fakes.SWAPS})
    assert "takes nothing before it shrinks" not in ctl(ours, "why", "77")[1]


def test_names_that_are_no_text(ours: Path, ctl: Ran) -> None:
    """Two groups stay two, and their limits are found."""
    for byte in (b"\xff", b"\xfe"):
        name = os.fsdecode(b"/x" + byte)
        fakes.write(ours, fakes.group(name, swap=90, memory_swap_max=MIB))
    fakes.write(ours, {"/proc/77/cgroup": b"0::/x\xff\n"})
    out = ctl(ours, "why", "77")[1]
    assert "memory.swap.max" in out and "group /x?" in out
    out = ctl(ours, "export", "--groups", "9")[1]
    assert 'vswap_group_swap_bytes{group="/x//xff"}' in out and 'group="/x//xfe"' in out
    code, out, _ = ctl(ours, "cgroup", os.fsdecode(b"x\xff"), "--json")
    assert code == 0 and json.loads(out)["limits"]["memory.swap.max"] == MIB
    assert json.loads(out)["group"] == "/x//xff" and json.loads(out)["holds"][0]["group"] == "/x//xff"


def test_a_carriage_return_in_a_name(ours: Path, ctl: Ran) -> None:
    """It ends no line: the group is another one than what is before it."""
    fakes.write(ours, {**fakes.group("/x", 7), **fakes.group("/x\ry", 9), "/proc/77/cgroup": b"0::/x\ry\n"})
    out = ctl(ours, "why", "77")[1]
    assert "group /x?y\n" in out and "9.0 MB" in out


def test_why_without_root(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_to_open(monkeypatch, "pagemap", "smaps", "debug")
    code, out, _ = ctl(ours, "why", "77")
    assert code == 0
    assert "with shared memory           needs root" in out and "page tables                  needs root" in out


def test_types_hidden(ours: Path, ctl: Ran) -> None:
    """To its owner the kernel shows which pages are swapped, and not where to."""
    pagemap = bytearray(8 * 64)
    pagemap[16 * 8 : 17 * 8] = (1 << 62).to_bytes(8, "little")
    fakes.write(ours, {"/proc/77/pagemap": bytes(pagemap)})
    out = ctl(ours, "why", "77")[1]
    assert "in page tables 4.0 KB" in " ".join(out.split()) and "of which swap devices: needs root" in out


@pytest.mark.parametrize("pid", ["0", "-1", "x", "", "999999999999999"])
def test_bad_pid(ours: Path, ctl: Ran, pid: str) -> None:
    code, out, err = ctl(ours, "why", pid)
    assert (code, out) == (2, "") and err.count("\n") == 1


def test_no_such_process(ours: Path, ctl: Ran) -> None:
    code, _, err = ctl(ours, "why", "78")
    assert code == 2 and "no process 78" in err


def test_kernel_thread(ours: Path, ctl: Ran) -> None:
    fakes.write(ours, fakes.process(2, "kthreadd", "/"))
    code, out, _ = ctl(ours, "why", "2")
    assert code == 0 and "kernel thread" in out


def test_this_process(ctl: Ran) -> None:
    """On the real machine, whatever it is."""
    code, out, _ = ctl(Path("/"), "why", str(os.getpid()))
    assert code == 0 and "in RAM" in out


def test_mode(ours: Path, ctl: Ran) -> None:
    assert ctl(ours, "mode") == (0, "auto\n", "")
    code, out, _ = ctl(ours, "mode", "always")
    assert code == 0 and out.startswith("always\n") and "vswap=always" in out
    assert (ours / "sys/kernel/mm/vswap/mode").read_text() == "always"


def test_mode_refused(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ctl(ours, "mode", "sometimes")[0] == 2

    def refuse(path: str, *_: Any) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    code, _, err = ctl(ours, "mode", "never")
    assert code == 3 and "sudo vswapctl mode never" in err


def test_mode_on_mainline(tmp_path: Path, ctl: Ran) -> None:
    code, _, err = ctl(fakes.mainline_zswap(tmp_path), "mode")
    assert code == 3 and "CONFIG_VSWAP=y" in err
