# SPDX-License-Identifier: GPL-2.0
"""What a spec becomes: the job for guest-init and the command lines of the machines."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.guest.fakes import KERNEL, MIB, spec
from vswaplab.errors import UsageError
from vswaplab.guest.boot import job_text
from vswaplab.guest.machine import Files
from vswaplab.guest.qemu import Qemu
from vswaplab.guest.spec import Swap, parse_swap
from vswaplab.guest.um import UserModeLinux, ram_directory

X86 = replace(KERNEL, arch="x86_64", kernel="mainline")


def files(directory: Path) -> Files:
    return Files(directory, directory / "guest-init", 7)


@pytest.mark.parametrize(
    ("text", "swap"),
    [
        ("none", Swap()),
        ("file:1G", Swap("file", 1 << 30)),
        ("zram:64M", Swap("zram", 64 * MIB)),
        ("file:5000001", Swap("file", 4997120)),
        ("ram:1M", Swap("ram", MIB)),
    ],
)
def test_swap(text: str, swap: Swap) -> None:
    assert parse_swap(text) == swap


BAD_SWAP = ["", "file", "file:", "file:0", "disk:1G", "zram:-1", "none:1G", "file:4K", "zram:x"]


@pytest.mark.parametrize("text", BAD_SWAP)
def test_bad_swap(text: str) -> None:
    with pytest.raises(UsageError):
        parse_swap(text)


@pytest.mark.parametrize(
    "change",
    [
        {"mem_bytes": MIB},
        {"mem_bytes": 1 << 50},
        {"cpus": 0},
        {"cpus": 5},
        {"mode": "sometimes"},
        {"pool_percent": 0},
        {"pool_percent": 101},
        {"compressor": "lzo\nzswap 0"},
        {"compressor": ""},
        {"timeout": 0.0},
        {"timeout": float("nan")},
        {"swap": "file"},
        {"icount": True, "cpus": 1},
        {"icount": True, "cpus": 2, "kernel": X86},
        {"nodes": 2},
        {"nodes": 3, "cpus": 2, "kernel": X86},
        {"nodes": 0, "kernel": X86},
    ],
)
def test_bad_specs(change: dict[str, Any]) -> None:
    spec().check()
    with pytest.raises(UsageError):
        spec(**change).check()


def test_job() -> None:
    wanted = spec(swap="zram:2M", compressor="zstd", pool_percent=80, zswap=False)
    text = job_text(wanted, Qemu(), parse_swap(wanted.swap))
    lines = text.splitlines()
    assert "channel /dev/vport0p1" in lines
    assert f"swap zram {2 * MIB}" in lines
    assert {"zswap 0", "compressor zstd", "pool_percent 80", "restart 1", "cgroup 2"} <= set(lines)
    plain = job_text(spec(swap="file:2M"), UserModeLinux(), parse_swap("file:2M")).splitlines()
    assert "swap disk /dev/ubdb" in plain
    assert not [line for line in plain if line.startswith(("compressor", "pool"))]


def test_user_mode_linux(tmp_path: Path) -> None:
    wanted = spec(cpus=2, mode="always", extra_cmdline=["kunit.autorun=1"])
    launch = UserModeLinux().launch(wanted, files(tmp_path))
    assert launch.argv[0] == str(KERNEL.image)
    assert {"seccomp=on", "ncpus=2", "mem=262144K", "rootfstype=hostfs", "ro", "vswap=always"} <= set(launch.argv)
    assert {"ssl0=null,fd:7", "con0=null,fd:1", "panic=-1", "noreboot", "kunit.autorun=1"} <= set(launch.argv)
    assert f"guest_job={tmp_path}" in launch.argv
    assert "rw" not in launch.argv
    assert not [word for word in launch.argv if word.startswith("ubd")]
    assert not [word for word in launch.argv if word in ("quiet", "loglevel=0")]


def test_user_mode_linux_with_a_disk(tmp_path: Path) -> None:
    (tmp_path / "disk").touch()
    assert f"ubd1={tmp_path}/disk" in UserModeLinux().launch(spec(), files(tmp_path)).argv


def test_qemu(tmp_path: Path) -> None:
    (tmp_path / "disk").touch()
    argv = Qemu().launch(spec(kernel=X86, mode="always"), files(tmp_path)).argv
    cmdline = argv[argv.index("-append") + 1].split()
    assert "ro" in cmdline
    assert "console=ttyS0" in cmdline
    assert not [word for word in cmdline if word.startswith("vswap=")], "mainline knows no mode"
    shared = [word for word in argv if word.startswith("local,")]
    assert shared == ["local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"]
    assert argv[argv.index("-smp") + 1] == "2"
    assert "-no-reboot" in argv
    assert any(word.startswith(f"file={tmp_path}/disk,") for word in argv)
    # The channel's device name in the guest depends on this.
    devices = [argv[n + 1] for n, word in enumerate(argv) if word == "-device"]
    assert devices[0] == "virtio-serial-pci"


def test_disk_in_ram(tmp_path: Path) -> None:
    wanted = spec(swap="ram:64M")
    wanted.check()
    assert "swap disk /dev/ram0" in job_text(wanted, UserModeLinux(), parse_swap(wanted.swap)).splitlines()
    assert "brd.rd_size=65536" in UserModeLinux().launch(wanted, files(tmp_path)).argv


def test_icount(tmp_path: Path) -> None:
    wanted = spec(kernel=X86, icount=True, cpus=1)
    wanted.check()
    argv = Qemu().launch(wanted, files(tmp_path)).argv
    assert argv[argv.index("-icount") + 1] == "shift=0,sleep=off"
    assert argv[argv.index("-accel") + 1] == "tcg,thread=single"
    assert "-icount" not in Qemu().launch(spec(kernel=X86), files(tmp_path)).argv


def test_nodes(tmp_path: Path) -> None:
    """They share the memory and the CPUs; what cannot be divided is the last one's."""
    wanted = spec(kernel=X86, nodes=2, cpus=3, mem_bytes=(256 << 20) + 4096)
    wanted.check()
    argv = Qemu().launch(wanted, files(tmp_path)).argv
    assert "memory-backend-ram,id=memory0,size=131072K" in argv
    assert "memory-backend-ram,id=memory1,size=131076K" in argv
    assert "node,nodeid=0,memdev=memory0,cpus=0-0" in argv
    assert "node,nodeid=1,memdev=memory1,cpus=1-2" in argv
    # The kernel warns of a socket with CPUs on several nodes.
    assert argv[argv.index("-smp") + 1] == "3,sockets=3"
    assert "-numa" not in Qemu().launch(spec(kernel=X86), files(tmp_path)).argv


@pytest.mark.parametrize(
    ("config", "cpus", "threads"),
    [
        ("# CONFIG_JUMP_LABEL is not set\n", 2, "multi"),
        ("CONFIG_SMP=y\nCONFIG_JUMP_LABEL=y\n", 2, "single"),
        ("CONFIG_JUMP_LABEL=y\n", 1, "multi"),
        (None, 2, "single"),
    ],
)
def test_kernel_that_patches_its_code(config: str | None, cpus: int, threads: str, tmp_path: Path) -> None:
    """Its CPUs may not run at the same time; nor may those of a kernel nobody knows the configuration of."""
    path = tmp_path / "config"
    if config is not None:
        path.write_text(config)
    argv = Qemu().launch(spec(kernel=replace(X86, config=path), cpus=cpus), files(tmp_path)).argv
    assert argv[argv.index("-accel") + 1] == f"tcg,thread={threads}"


@pytest.mark.parametrize(
    ("config", "four"), [("CONFIG_KASAN=y\n", True), ("# CONFIG_KASAN is not set\n", False), (None, False)]
)
def test_page_tables_of_four_levels_for_kasan(config: str | None, four: bool, tmp_path: Path) -> None:
    path = tmp_path / "config"
    if config is not None:
        path.write_text(config)
    argv = Qemu().launch(spec(kernel=replace(X86, config=path)), files(tmp_path)).argv
    assert ("no5lvl" in argv[argv.index("-append") + 1].split()) == four


@pytest.mark.parametrize(("cpus", "watched"), [(1, True), (2, False)])
def test_clock_is_not_watched_by_several_cpus(cpus: int, watched: bool, tmp_path: Path) -> None:
    argv = Qemu().launch(spec(kernel=X86, cpus=cpus), files(tmp_path)).argv
    assert ("tsc=nowatchdog" not in argv[argv.index("-append") + 1].split()) == watched


def test_path_with_white_space(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="white space"):
        UserModeLinux().launch(spec(), files(tmp_path / "a b"))


def test_ram_goes_where_there_is_room(tmp_path: Path) -> None:
    assert ram_directory(MIB, tmp_path) == tmp_path
    assert ram_directory(1 << 60, tmp_path) != tmp_path
    assert ram_directory(MIB, tmp_path / "missing") != tmp_path / "missing"
