# SPDX-License-Identifier: GPL-2.0
"""vswapctl status: figures, files that are missing or malformed, and what it costs."""

import builtins
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran, refuse_to_open
from vswapctl import snapshot
from vswapctl.kernel import Kernel

MIB = fakes.MIB
TOOLS = Path(__file__).resolve().parents[2] / "tools"
PROGRAM = TOOLS / "bin/vswapctl"
SLOTS = "/sys/kernel/mm/vswap"


def test_figures(ours: Path, ctl: Ran) -> None:
    code, out, err = ctl(ours, "status", "--json")
    assert (code, err) == (0, "")
    seen = json.loads(out)
    virtual, zswap = seen["virtual_swap"], seen["zswap"]
    assert virtual["mode"] == "auto"
    names = ("zero", "zswap", "device", "cached", "refused")
    assert [virtual[f"{name}_bytes"] // MIB for name in names] == [100, 300, 20, 12, 4]
    assert zswap["ratio"] == 3.0 and zswap["pool_limit_bytes"] == 2048 * MIB
    entries = 300 * fakes.PAGES * 8  # at virtual slots there are handles only
    assert zswap["entry_bytes"] == entries and zswap["incompressible_bytes"] == MIB
    assert seen["gained_bytes"] == (300 + 100 - 100 - 2) * MIB - entries
    assert seen["devices"] == [
        {"name": "/dev/vda2", "type": "partition", "size_bytes": 1024 * MIB, "used_bytes": 20 * MIB,
         "free_bytes": 1004 * MIB, "priority": -2}
    ]  # fmt: skip
    assert seen["attempts_since_boot"] == {"vswap_refuse": 12} and "vswap_refuse" not in seen["pages_since_boot"]
    assert seen["pages_per_second"] is seen["attempts_per_second"] is None
    assert zswap["counters"] == {"pool_limit_hit": 3, "reject_compress_poor": 44}
    assert seen["needs_root"] == []


def test_fragmentation(ours: Path, tmp_path: Path, ctl: Ran) -> None:
    """A quarter of 1004 MB that are free lies between used slots; mainline does not say."""
    assert json.loads(ctl(ours, "status", "--json")[1])["free_fragmented"] == pytest.approx(0.25)
    assert "free space between used slots: 25 %\n" in ctl(ours, "status")[1]
    mainline = fakes.mainline_zswap(tmp_path / "mainline")
    assert json.loads(ctl(mainline, "status", "--json")[1])["free_fragmented"] is None
    assert "between used slots" not in ctl(mainline, "status")[1]
    (ours / "sys/kernel/mm/vswap/free_contiguous").write_text(f"{1100 * fakes.PAGES}\n")  # some went meanwhile
    assert json.loads(ctl(ours, "status", "--json")[1])["free_fragmented"] == 0


def test_meminfo_without_zswap(tmp_path: Path, ctl: Ran) -> None:
    """Before Linux 5.19 only debugfs has these figures. What is not known is not 0."""
    root = fakes.mainline_zswap(tmp_path)
    meminfo = fakes.meminfo(swap_total=2048, swap_free=1748)
    fakes.write(root, {"/proc/meminfo": re.sub("Zswap.*\n", "", meminfo)})
    seen = json.loads(ctl(root, "status", "--json")[1])
    names = ("stored_bytes", "pool_bytes", "entry_bytes", "ratio")
    assert [seen["zswap"][name] for name in names] == [None] * 4 and seen["gained_bytes"] is None
    assert re.search(r"in zswap +-\n +pool +-  - of the limit", ctl(root, "status")[1])
    out = ctl(root, "export")[1]
    assert "vswap_zswap_enabled 1\n" in out and not re.search("zswap_(stored|pool|entry)_bytes |ram_gained", out)
    at = "/sys/kernel/debug/zswap"
    fakes.write(root, {f"{at}/pool_total_size": 100 * MIB, f"{at}/stored_pages": 300 * fakes.PAGES})
    seen = json.loads(ctl(root, "status", "--json")[1])
    entries = 300 * fakes.PAGES * (8 + 56)
    assert [seen["zswap"][name] for name in names] == [300 * MIB, 100 * MIB, entries, 3.0]
    assert seen["gained_bytes"] == 200 * MIB - entries


def test_direct_entries_beside_virtual_ones(ours: Path, ctl: Ran) -> None:
    """Pages that were swapped out before virtual swap was used have a struct zswap_entry each."""
    (ours / "sys/kernel/mm/vswap/zswap").write_text(f"{100 * fakes.PAGES}\n")
    zswap = json.loads(ctl(ours, "status", "--json")[1])["zswap"]
    assert zswap["entry_bytes"] == fakes.PAGES * (300 * 8 + 200 * 56)


def test_text(ours: Path, ctl: Ran) -> None:
    _, out, _ = ctl(ours, "status")
    for text in ("mode auto", "on, zstd", "ratio 3.00", "5 % of the limit, 2.0 GB (50 % of RAM)", "/dev/vda2",
                 "297.4 MB", "pool_limit_hit 3", "4.0 MB", "does not compress  12 attempts\n"):  # fmt: skip
        assert text in out, out
    assert max(map(len, out.splitlines())) <= 80


def test_every_machine(machine: Path, ctl: Ran) -> None:
    for words in (["status"], ["status", "--json"], ["status", "--interval", "0.05"]):
        code, out, err = ctl(machine, *words)
        assert (code, err) == (0, "") and out
        assert "--json" in words or max(map(len, out.splitlines())) <= 80, out


def test_mainline(tmp_path: Path, ctl: Ran) -> None:
    _, out, _ = ctl(fakes.mainline_zswap(tmp_path / "a"), "status")
    assert "not in this kernel (CONFIG_VSWAP)" in out and "/swap file" in out and "virtual slots" not in out
    _, out, _ = ctl(fakes.mainline_zram(tmp_path / "b"), "status")
    assert "zram0: 200.0 MB in 64.0 MB of RAM, ratio 3.12" in out and "zram1" not in out and "zswap: off" in out
    _, out, _ = ctl(fakes.no_swap(tmp_path / "c"), "status")
    assert "swap devices: none" in out and "zswap: not in this kernel" in out


def test_rates(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody swaps while it measures."""
    after = fakes.vstat(pswpin=100, pswpout=5120, zswpout=90000, zswpwb=5000) + fakes.OURS
    real = time.sleep

    def swap(seconds: float) -> None:
        (ours / "proc/vmstat").write_text(after)
        real(seconds)

    monkeypatch.setattr(time, "sleep", swap)
    code, out, _ = ctl(ours, "status", "--json", "--interval", "0.5")
    rates = json.loads(out)["pages_per_second"]
    assert code == 0 and 0 < rates["zswpout"] <= 20000 and rates["zswpin"] == 0
    assert json.loads(out)["attempts_per_second"] == {"vswap_refuse": 0} and "vswap_refuse" not in rates
    out = ctl(ours, "status", "--interval", "0.05")[1]
    assert "into zswap" in out and "0.0 attempts/s\n" in out


@pytest.mark.parametrize(
    "content", ["", "garbage\n", "-\n", "12 34\n", "99999999999999999999999999\n", "\udcff\x00"]
)
def test_malformed(ours: Path, ctl: Ran, content: str) -> None:
    """Any file may be nonsense; what is not known is shown as such."""
    for path in list(ours.rglob("*")):
        if path.is_file() and path.name != "meminfo":
            before = path.read_bytes()
            path.write_bytes(content.encode("utf-8", "surrogateescape"))
            code, out, err = ctl(ours, "status")
            assert (code, err) == (0, "") and "memory" in out, path
            path.write_bytes(before)


def test_missing(ours: Path, ctl: Ran) -> None:
    for path in list(ours.rglob("*")):
        if path.is_file() and path.name != "meminfo":
            before = path.read_bytes()
            path.unlink()
            assert ctl(ours, "status", "--json")[0] == 0, path
            path.write_bytes(before)


@pytest.mark.parametrize("content", [None, "", "MemTotal: lots kB\n", "MemTotal: 0 kB\n"])
def test_no_meminfo(ours: Path, ctl: Ran, content: str | None) -> None:
    path = ours / "proc/meminfo"
    path.unlink() if content is None else path.write_text(content)
    for words in (["status"], ["doctor"], ["export"], ["why", "77"], ["drain", "/dev/vda2"]):
        code, out, err = ctl(ours, *words)
        assert (code, out) == (3, "") and err.startswith("vswapctl: cannot read") and err.count("\n") == 1, words


def test_needs_root(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, whom permissions do not stop: the directory is refused by hand."""
    real = os.listdir

    def refuse(path: str) -> list[str]:
        if path.endswith("/sys/kernel/debug"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "listdir", refuse)
    code, out, _ = ctl(ours, "status")
    assert code == 0 and "needs root" in out
    assert json.loads(ctl(ours, "status", "--json")[1])["needs_root"] == ["/sys/kernel/debug"]


def test_free_space_needs_root(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """That line says so, and is not left out."""
    refuse_to_open(monkeypatch, "/free_contiguous")
    assert "free space between used slots: needs root\n" in ctl(ours, "status")[1]


def test_free_space_is_read_where_it_is_shown(ours: Path, monkeypatch: pytest.MonkeyPatch, ctl: Ran) -> None:
    """The kernel walks all clusters for it, and top would have it do so every second."""
    opened: list[str] = []
    real = builtins.open

    def note(path: Any, *args: Any, **kwargs: Any) -> Any:
        opened.append(str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", note)
    for words in (["doctor"], ["why", "77"], ["drain", "/dev/vda2", "--dry-run"], ["cgroup", "/"]):
        assert ctl(ours, *words)[0] == 0
    snapshot.take(Kernel(str(ours)))  # as top
    assert opened and not any(name.endswith("/free_contiguous") for name in opened)
    for words in (["status"], ["export"]):
        opened.clear()
        assert ctl(ours, *words)[0] == 0
        assert len([name for name in opened if name.endswith("/free_contiguous")]) == 1


@pytest.mark.parametrize("seen", ["/sys/module/vswap/parameters/max_gb", "/proc/cmdline"])
def test_off_at_boot(ours: Path, ctl: Ran, seen: str) -> None:
    """That is no kernel without virtual swap."""
    shutil.rmtree(ours / "sys/kernel/mm/vswap")
    fakes.write(ours, {seen: "quiet vswap.max_gb=64 vswap.max_gb=0\n" if "cmdline" in seen else 0})
    assert "virtual swap: off by the boot parameter vswap.max_gb=0\n" in ctl(ours, "status")[1]
    code, _, err = ctl(ours, "mode")
    assert code == 3 and "vswap.max_gb=0" in err and "CONFIG" not in err
    code, out, _ = ctl(ours, "doctor")
    assert code == 1 and "cmdline-max-gb: the boot parameter vswap.max_gb=0 turns virtual swap off\n" in out
    assert "s/ *vswap\\.max_gb=0//" in out and "CONFIG_VSWAP" not in out
    assert "virtual swap is off (vswap.max_gb=0)" in ctl(ours, "why", "77")[1]
    fakes.write(ours, {seen: "vswap.max_gb=0 vswap.max_gb=64\n" if "cmdline" in seen else 64})
    assert "not in this kernel (CONFIG_VSWAP)" in ctl(ours, "status")[1]


def test_names_cannot_move_the_cursor(ours: Path, ctl: Ran) -> None:
    (ours / "proc/swaps").write_text(fakes.swaps(("/swap\\033[2Jx", "file", 1, 0, 1)))
    _, out, _ = ctl(ours, "status")
    assert "\033" not in out and "/swap?[2Jx" in out


def test_json_of_names_that_are_no_text(ours: Path, ctl: Ran) -> None:
    """Strict readers take it: no half of a surrogate pair."""
    (ours / "proc/swaps").write_bytes(fakes.swaps(("/swap?", "file", 1, 0, 1)).encode().replace(b"?", b"\xff"))
    out = ctl(ours, "status", "--json")[1]
    assert "\\udc" not in out and json.loads(out)["devices"][0]["name"] == "/swap//xff"


def _spent(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_cost(ours: Path) -> None:
    """Less than 50 ms of CPU time, Python's start included, or four times that start on a slow machine.

    By the system's Python, as the package runs it: another may have much to import. Each try is compared with a
    start right after it, which a busy machine slows down as much; the best of all starts may be of a quiet moment.
    """
    system = Path("/usr/bin/python3")
    python = [str(system)] if system.exists() else [sys.executable, "-S", "-E"]
    command = [*python, str(PROGRAM), "--root", str(ours), "status"]
    both = [(_spent(command), _spent([*python, "-c", ""])) for _ in range(10)]
    least, times = min(spent for spent, _ in both), median(spent / start for spent, start in both)
    assert least < 0.05 or times < 4, both


def test_memory(ours: Path) -> None:
    """VmHWM at the end, below 20 MB."""
    text = (
        f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from vswapctl.cli import main\n"
        f"main(['--root', {str(ours)!r}, 'status'])\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    ran = subprocess.run([sys.executable, "-S", "-E", "-c", text], check=True, capture_output=True, text=True)
    assert int(ran.stdout.splitlines()[-1]) < 20 * 1024


def test_imports(ours: Path) -> None:
    """What is slow to import stays away."""
    ran = subprocess.run(
        [sys.executable, "-S", "-E", "-X", "importtime", str(PROGRAM), "--root", str(ours), "status"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    names = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "vswapctl.statustext" in names
    slow = {"json", "dataclasses", "http.server", "rich", "ctypes", "subprocess", "shutil", "vswapctl.doctor"}
    assert not names & slow
