# SPDX-License-Identifier: GPL-2.0
"""Kernels that are files: virtual swap, mainline with zswap, mainline with zram, no swap at all."""

from collections.abc import Callable, Mapping
from pathlib import Path

MIB = 1 << 20
PAGES = MIB // 4096  # in a MiB
KB = 1024

MEMINFO = """\
MemTotal:       {total} kB
MemFree:         1000000 kB
MemAvailable:   {available} kB
SwapTotal:      {swap_total} kB
SwapFree:       {swap_free} kB
Zswap:          {pool} kB
Zswapped:       {stored} kB
HugePages_Total:       0
"""
VMSTAT = "nr_free_pages 12345\npswpin {pswpin}\npswpout {pswpout}\nswpin_zero 3\nswpout_zero 7\n"
ZSWPS = "zswpin 1000\nzswpout {zswpout}\nzswpwb {zswpwb}\n"
OURS = (
    "vswap_alloc 9000\nvswap_free 4000\nvswap_grow 1\nvswap_reserve 0\nvswap_slot_alloc 256\n"
    "vswap_slot_free 0\nvswap_evacuate 0\nvswap_overtake 0\nvswap_refuse 12\n"
)
PRESSURE = (
    "some avg10=0.00 avg60=1.00 avg300=0.30 total=2500000\nfull avg10=0.00 avg60=0.10 avg300=0.03 total=250000\n"
)
ZRAM_GENERATOR = {"/usr/lib/systemd/system-generators/zram-generator": b"\x7fELF"}
SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
CRYPTO = "name         : lzo\ndriver       : lzo-scomp\ntype         : scomp\n\nname         : zstd\n"
SMAPS = """\
00010000-00014000 rw-p 00000000 00:00 0                                  [heap]
Size:                 16 kB
Swap:                 12 kB
SwapPss:               6 kB
00020000-00030000 rw-p 00000000 00:00 0
Swap:                  0 kB
"""


def write(root: Path, files: Mapping[str, str | int | bytes]) -> Path:
    """Make files; a number gets a newline, as in sysfs."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        data = (
            content
            if isinstance(content, bytes)
            else f"{content}\n".encode()
            if isinstance(content, int)
            else None
        )
        path.write_bytes(data if data is not None else str(content).encode())
    return root


def meminfo(**changes: int) -> str:
    """/proc/meminfo of a machine of 4 GB; sizes in MiB."""
    values = {"total": 4096, "available": 2048, "swap_total": 0, "swap_free": 0, "pool": 0, "stored": 0, **changes}
    return MEMINFO.format(**{name: value * KB for name, value in values.items()})


def swaps(*devices: tuple[str, str, int, int, int]) -> str:
    """/proc/swaps: name, kind, size and used in MiB, priority."""
    lines = [f"{name}\t{kind}\t{size * KB}\t{used * KB}\t{prio}" for name, kind, size, used, prio in devices]
    return SWAPS + "".join(line + "\n" for line in lines)


def zswap(enabled: str = "Y", percent: int = 20) -> dict[str, str | int | bytes]:
    """zswap's parameters."""
    at = "/sys/module/zswap/parameters"
    return {
        f"{at}/enabled": f"{enabled}\n",
        f"{at}/compressor": "zstd\n",
        f"{at}/max_pool_percent": percent,
        f"{at}/accept_threshold_percent": 90,
        f"{at}/shrinker_enabled": "N\n",
    }


def group(
    name: str, swap: int = 0, pool: int = 0, stat: str = "", **limits: int | str
) -> dict[str, str | int | bytes]:
    """A control group; sizes in MiB, limits by file name with _ for the dots."""
    at = f"/sys/fs/cgroup{name}"
    files: dict[str, str | int | bytes] = {
        f"{at}/cgroup.controllers": "cpu io memory pids\n",
        f"{at}/memory.stat": f"anon {8 * MIB}\nzswap {pool * MIB}\n{stat}",
    }
    if name:
        files |= {
            f"{at}/memory.current": 16 * MIB,
            f"{at}/memory.swap.current": swap * MIB,
            f"{at}/memory.zswap.current": pool * MIB,
            f"{at}/memory.swap.events": "high 0\nmax 0\nfail 0\n",
            f"{at}/memory.zswap.writeback": 1,
        }
        values: dict[str, int | str] = {
            "memory_high": "max", "memory_max": "max", "memory_swap_high": "max", "memory_swap_max": "max",
            "memory_zswap_max": "max", **limits,
        }  # fmt: skip
        files |= {f"{at}/{key.replace('_', '.')}": f"{value}\n" for key, value in values.items()}
    return files


def process(pid: int, name: str, path: str, **status: int) -> dict[str, str | int | bytes]:
    """A process of a group; sizes in kB."""
    lines = "".join(f"{key}:\t{value} kB\n" for key, value in status.items())
    return {
        f"/proc/{pid}/status": f"Name:\t{name}\nPid:\t{pid}\n{lines}",
        f"/proc/{pid}/comm": f"{name}\n",
        f"/proc/{pid}/cgroup": f"0::{path}\n",
        f"/proc/{pid}/stat": f"{pid} ({name}) S " + " ".join(["0"] * 18 + ["1000"] + ["0"] * 20) + "\n",
    }


BASE: dict[str, str | int | bytes] = {
    "/proc/crypto": CRYPTO,
    "/proc/cmdline": "root=/dev/vda ro quiet\n",
    "/proc/stat": "cpu 1 2 3\nbtime 1000000\n",
    "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
    "/proc/pressure/memory": PRESSURE,
    "/proc/sys/vm/page-cluster": 3,
    "/proc/sys/vm/swappiness": 60,
    "/proc/sys/vm/overcommit_memory": 0,
    "/proc/swaps": SWAPS,
}


def vstat(pswpin: int = 0, pswpout: int = 0, zswpout: int = 0, zswpwb: int = 0) -> str:
    """/proc/vmstat of mainline with zswap."""
    return VMSTAT.format(pswpin=pswpin, pswpout=pswpout) + ZSWPS.format(zswpout=zswpout, zswpwb=zswpwb)


def ours(root: Path) -> Path:
    """Virtual swap: 300 MiB in zswap at 3:1, and 100 MiB of zeroes, 20 on a disk, 12 cached, 4 of them refused."""
    at = "/sys/kernel/mm/vswap"
    slots = {"zero": 100, "zswap": 300, "physical": 20, "cached": 12, "refused": 4, "slots_used": 432}
    pagemap = bytearray(8 * 64)
    for page, kind in ((16, 0), (17, 0), (18, 1)):
        pagemap[page * 8 : page * 8 + 8] = ((1 << 62) | (5 << 5) | kind).to_bytes(8, "little")
    return write(
        root,
        {
            **BASE,
            **zswap(percent=50),
            "/proc/meminfo": meminfo(swap_total=1024, swap_free=1004, pool=100, stored=300),
            "/proc/vmstat": vstat(pswpin=100, pswpout=5120, zswpout=80000, zswpwb=5000) + OURS,
            "/proc/swaps": swaps(("/dev/vda2", "partition", 1024, 20, -2)),
            f"{at}/mode": "auto\n",
            f"{at}/slots_max": 1 << 30,
            f"{at}/metadata_bytes": 2 * MIB,
            f"{at}/free_contiguous": 753 * PAGES,
            **{f"{at}/{name}": count * PAGES for name, count in slots.items()},
            **group("", stat="zswap_incomp 1048576\n"),
            **group("/user.slice", 18, 90, memory_swap_max=64 * MIB),
            **group("/user.slice/shell", 6, 30,
                    f"zswapped {90 * MIB}\nzswpwb 400\npswpout 1000\nvswap_tables 4096\nvswap_refused 8192\n",
                    memory_zswap_max=40 * MIB),
            **group("/system.slice", 2, 10),
            **process(77, "shell", "/user.slice/shell", VmSize=9000, VmRSS=4000, VmSwap=12),
            "/proc/77/smaps_rollup": "10000-20000 ---p 0 0 0 [rollup]\nSwap: 16 kB\nSwapPss: 6 kB\n",
            "/proc/77/smaps": SMAPS,
            "/proc/77/pagemap": bytes(pagemap),
            "/sys/kernel/debug/zswap/pool_limit_hit": 3,
            "/sys/kernel/debug/zswap/reject_compress_poor": 44,
        },
    )  # fmt: skip


def mainline_zswap(root: Path) -> Path:
    """A swapfile with zswap in front of it."""
    return write(
        root,
        {
            **BASE,
            **zswap(),
            "/proc/meminfo": meminfo(swap_total=2048, swap_free=1748, pool=100, stored=300),
            "/proc/vmstat": vstat(zswpout=80000),
            "/proc/swaps": swaps(("/swap\\040file", "file", 2048, 300, -2)),
            **group(""),
            **group("/a", 300, 100),
        },
    )


def mainline_zram(root: Path) -> Path:
    """A zram disk, zswap off."""
    return write(
        root,
        {
            **BASE,
            **zswap("N"),
            "/proc/meminfo": meminfo(swap_total=2048, swap_free=1848),
            "/proc/vmstat": vstat(pswpout=60000),
            "/proc/swaps": swaps(("/dev/zram0", "partition", 2048, 200, 100)),
            "/sys/block/zram0/disksize": 2048 * MIB,
            "/sys/block/zram0/mm_stat": f"{200 * MIB} {60 * MIB} {64 * MIB} 0 {64 * MIB} 0 0 0 0\n",
            "/sys/block/zram1/disksize": 0,
            "/sys/block/zram1/mm_stat": "0 0 0 0 0 0 0 0 0\n",
        },
    )


def no_swap(root: Path) -> Path:
    """A kernel without zswap, cgroup v2, or any device."""
    files = {name: content for name, content in BASE.items() if "mounts" not in name}
    return write(root, {**files, "/proc/meminfo": meminfo(), "/proc/vmstat": VMSTAT.format(pswpin=0, pswpout=0)})


MACHINES: dict[str, Callable[[Path], Path]] = {
    "ours": ours, "zswap": mainline_zswap, "zram": mainline_zram, "none": no_swap,
}  # fmt: skip
