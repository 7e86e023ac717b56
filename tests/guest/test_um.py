# SPDX-License-Identifier: GPL-2.0
"""Real guests under User-Mode Linux."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.guest.fakes import processes
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec, boot

MIB = 1 << 20
TOP = Path(__file__).parents[2]
pytestmark = pytest.mark.kernel("vswap", "um", "debug")
Booter = Callable[..., GuestResult]


@pytest.fixture(autouse=True)
def temporary(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory for temporary files, of programs too; no machine may be left at the end."""
    monkeypatch.setenv("TMPDIR", str(temporary))
    yield temporary
    assert processes(temporary) == []


@pytest.fixture
def run(built_kernel: Callable[[str, str, str], BuiltKernel]) -> Booter:
    """Boot the debug kernel with a script."""

    def boot_one(script: str, **changes: Any) -> GuestResult:
        values = {"timeout": 120.0, "leak_pause": 0, **changes}
        return boot(GuestSpec(built_kernel("vswap", "um", "debug"), script, **values))

    return boot_one


def test_everything_of_one_run(run: Booter) -> None:
    result = run(
        "echo out; echo err >&2; nproc; id -u; hostname; echo '{\"a\": 1}' >$RESULTS/a.json; exit 7",
        cpus=2, compressor="zstd", pool_percent=33, mode="always", leak_pause=6,
    )  # fmt: skip
    assert result.splats == []
    assert result.host.startswith("host: ")
    assert (result.status, result.exit_code) == ("ok", 7)
    assert result.stdout == "out\n2\n0\nvswap-guest\n"
    assert result.stderr == "err\n"
    assert result.files == {"a.json": '{"a": 1}\n'}
    assert result.hello["compressor"] == "zstd"
    assert result.hello["pool_percent"] == "33"
    assert "always" in str(result.hello["mode"])
    assert [sample.phase for sample in result.samples][:: len(result.samples) - 1] == ["start", "end"]
    assert 150 * MIB < result.samples[0].meminfo["MemTotal"] < 256 * MIB
    assert result.verify_violations == 0
    assert result.leaks == ""
    assert result.swapoff_seconds is None


def test_host_files_are_seen_and_never_changed(run: Booter, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("from the host\n")
    (tmp_path / "doomed").write_text("keep me\n")
    result = run(
        f"cd {tmp_path} && cat file && echo changed >file && cat file && rm doomed && touch new && mkdir dir && ls"
        " && chmod 600 file && rm -rf /etc/hostname && echo x >/etc/new-from-guest"
    )
    assert result.output.split() == ["from", "the", "host", "changed", "dir", "file", "new", "temporary"]
    assert (tmp_path / "file").read_text() == "from the host\n"
    assert (tmp_path / "doomed").read_text() == "keep me\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["doomed", "file", "temporary"]
    assert not Path("/etc/new-from-guest").exists()


def test_root_cannot_be_made_writable(run: Booter) -> None:
    """Whatever a guest mounts, the lower layer was mounted read-only by the kernel."""
    result = run("grep ' / ' /proc/mounts; cat /proc/cmdline")
    assert " ro " in result.output
    assert "overlay / overlay rw" in result.output


def test_file_systems(run: Booter) -> None:
    result = run("awk '{print $2, $3}' /proc/mounts; cat /sys/fs/cgroup/cgroup.controllers")
    mounts = set(result.output.splitlines())
    assert {
        "/proc proc", "/sys sysfs", "/dev devtmpfs", "/dev/shm tmpfs", "/run tmpfs", "/sys/fs/cgroup cgroup2",
        "/sys/kernel/debug debugfs",
    } <= mounts  # fmt: skip
    assert any("memory" in line.split() for line in mounts)


def test_cgroup_v1(run: Booter) -> None:
    result = run("mkdir /sys/fs/cgroup/memory/a && ls /sys/fs/cgroup/memory/a", cgroup=1)
    assert "memory.limit_in_bytes" in result.output.split()


def test_swap_disk(run: Booter) -> None:
    result = run("cat /proc/swaps", swap="file:64M")
    assert result.clean
    device, _, size, *_ = result.output.splitlines()[1].split()
    assert (device, size) == ("/dev/ubdb", str(64 * 1024 - 4))
    assert result.swapoff_seconds is not None
    assert 0 <= result.swapoff_seconds < 10


def test_swap_taken_away_by_the_workload(run: Booter) -> None:
    result = run("PATH=$PATH:/sbin:/usr/sbin swapoff /dev/ubdb", swap="file:64M")
    assert (result.status, result.exit_code) == ("ok", 0)
    assert (result.swapoff_seconds, result.swapoff_error) == (None, "the workload took it away")


def test_zram(run: Booter) -> None:
    result = run(
        "cat /proc/swaps; cat /sys/block/zram0/comp_algorithm; cat /sys/module/zswap/parameters/enabled",
        swap="zram:32M", compressor="zstd", zswap=False,
    )  # fmt: skip
    assert "/dev/zram0" in result.output
    assert "[zstd]" in result.output
    assert result.output.endswith("N\n")


@pytest.mark.parametrize("changes", [{"compressor": "nonsense"}, {"compressor": "nonsense", "swap": "zram:32M"}])
def test_settings_that_the_kernel_refuses(run: Booter, changes: dict[str, Any]) -> None:
    result = run("true", **changes)
    assert result.status == "refused"
    assert "nonsense" in str(result.error)


def test_panic(run: Booter) -> None:
    result = run("sleep 0.3; echo c >/proc/sysrq-trigger; sleep 60")
    assert result.status == "panic"
    assert any("sysrq triggered crash" in splat for splat in result.splats)
    assert result.wall_seconds < 60
    assert len(result.samples) >= 2, "what was said before the end is kept"


def test_kernel_that_cannot_start(run: Booter) -> None:
    result = run("true", extra_cmdline=["init=/nonexistent"])
    assert result.status == "panic"


def test_complaint_fails_the_run(run: Booter) -> None:
    result = run("echo '<4>WARNING: mm/vswap/space.c:1 at test+0x1/0x2, CPU#0: sh/1' >/dev/kmsg; exit 0")
    assert (result.status, result.exit_code) == ("ok", 0)
    assert result.splats == ["WARNING: mm/vswap/space.c:1 at test+0x1/0x2, CPU#0: sh/1"]
    assert not result.clean


def test_reboot_is_a_lost_guest(run: Booter) -> None:
    # A second CPU would go on, and see its files being closed.
    result = run("echo b >/proc/sysrq-trigger; sleep 60", cpus=1)
    assert result.status == "lost"
    assert result.wall_seconds < 60


def test_time_limit(run: Booter, temporary: Path) -> None:
    seen: list[int] = []
    watch = threading.Timer(2.5, lambda: seen.extend(processes(temporary)))
    watch.start()
    result = run("sleep 1000 & sleep 1001 & wait", timeout=4.0, cpus=2)
    watch.join()
    assert seen, "there was a machine to kill"
    assert result.status == "timeout"
    assert result.wall_seconds < 15


def test_killed_machine_is_lost(run: Booter, temporary: Path) -> None:
    def kill() -> None:
        for pid in processes(temporary):
            os.kill(pid, signal.SIGKILL)

    watch = threading.Timer(2.5, kill)
    watch.start()
    result = run("sleep 1000", timeout=60.0)
    watch.join()
    assert result.status == "lost"
    assert result.wall_seconds < 30


def test_leftover_processes_of_the_workload_end(run: Booter) -> None:
    result = run("setsid sh -c 'trap \"\" TERM HUP; echo started; sleep 1000' & sleep 0.3; exit 0")
    assert (result.status, result.exit_code) == ("ok", 0)
    assert result.stdout == "started\n"
    assert result.wall_seconds < 60


def test_output_of_any_bytes(run: Booter) -> None:
    received: list[bytes] = []
    result = run(
        'i=0; while [ $i -lt 256 ]; do printf "\\\\$(printf %03o $i)"; i=$((i+1)); done; seq 30000',
        on_output=lambda stream, data: received.append(data) if stream == "out" else None,
    )
    expected = bytes(range(256)) + "".join(f"{n}\n" for n in range(1, 30001)).encode()
    assert b"".join(received) == expected
    assert result.stdout == expected.decode(errors="replace")


def test_oom_kill_is_recorded_and_is_no_complaint(run: Booter) -> None:
    result = run(
        "mkdir /sys/fs/cgroup/a; echo 16M >/sys/fs/cgroup/a/memory.max; echo 0 >/sys/fs/cgroup/a/memory.swap.max\n"
        "echo 0 >/sys/fs/cgroup/a/memory.zswap.max; echo $$ >/sys/fs/cgroup/a/cgroup.procs\n"
        "exec head -c 40m /dev/zero | tail -c 39m | wc -c"
    )
    assert result.status == "ok"
    assert result.oom_kills
    assert result.splats == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_command(temporary: Path, number: signal.Signals, code: int) -> None:
    command = [sys.executable, "-m", "vswaplab", "run", "--flavour", "debug"]
    command += ["--", "sh", "-c", "echo up; sleep 1000"]
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        assert processes(temporary)
        program.send_signal(number)
        assert program.wait(20) == code
    limit = time.monotonic() + 5
    while processes(temporary) and time.monotonic() < limit:
        time.sleep(0.05)
