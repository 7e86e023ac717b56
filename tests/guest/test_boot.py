# SPDX-License-Identifier: GPL-2.0
"""boot() with machines that are shell scripts: every way to end, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.guest.fakes import BYE, EXIT, ShellMachine, sample, say, spec
from vswaplab.errors import ToolError
from vswaplab.guest import boot
from vswaplab.guest.machine import Files, Launch
from vswaplab.guest.spec import GuestSpec

pytestmark = pytest.mark.usefixtures("temporary")
ALL = say(sample("start"), EXIT, sample("end"), BYE)
TOP = Path(__file__).parents[2]


def alive(pid: int) -> bool:
    """Whether it runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether the process ends within this time."""
    limit = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def test_regular_end(tmp_path: Path) -> None:
    copy = tmp_path / "console"
    result = boot(spec(), machine=ShellMachine(f"echo booting; {ALL}"), console=copy)
    assert result.status == "ok"
    assert result.clean
    assert (result.exit_code, result.seconds) == (0, 1.5)
    assert result.console == "booting\n" == copy.read_text()
    assert 0 < result.wall_seconds < 10


def test_job_and_script_reach_the_machine() -> None:
    machine = ShellMachine(f"cat $job/job $job/script; {ALL}")
    result = boot(spec(script="echo 'hi'\n", swap="file:8M"), machine=machine)
    assert "swap disk /dev/disk\n" in result.console
    assert result.console.endswith("echo 'hi'\n")


def test_disk_is_sparse() -> None:
    result = boot(spec(swap="file:512M"), machine=ShellMachine(f"stat -c '%s %b' $job/disk; {ALL}"))
    assert result.console == f"{512 << 20} 0\n"


def test_complaint_spoils_the_best_run() -> None:
    result = boot(spec(), machine=ShellMachine(f"echo 'BUG: KASAN: use-after-free in f'; {ALL}"))
    assert (result.status, result.exit_code) == ("ok", 0)
    assert result.splats == ["BUG: KASAN: use-after-free in f"]
    assert not result.clean


@pytest.mark.parametrize(
    "event",
    [
        {"type": "verify", "violations": 3},
        {"type": "leak", "name": "kmemleak", "data": "unreferenced object 0xffff888003c4f000 (size 64):\n"},
    ],
)
def test_own_checks_of_the_kernel_count_as_complaints(event: dict[str, object]) -> None:
    result = boot(spec(), machine=ShellMachine(say(EXIT, event, BYE)))
    assert result.status == "ok"
    assert len(result.splats) == 1
    assert not result.clean


def test_panic() -> None:
    result = boot(spec(), machine=ShellMachine("echo 'Kernel panic - not syncing: Out of memory'; exit 1"))
    assert result.status == "panic"
    assert result.exit_code is None


def test_lost() -> None:
    result = boot(spec(), machine=ShellMachine(say(sample("start"))))
    assert (result.status, result.error) == ("lost", None)


def test_lost_with_last_words() -> None:
    result = boot(spec(), machine=ShellMachine("echo '[    1.2] guest-init: there is no /dev/x'"))
    assert (result.status, result.error) == ("lost", "there is no /dev/x")


def test_refused() -> None:
    result = boot(spec(), machine=ShellMachine(say({"type": "refused", "text": "no compressor x"})))
    assert (result.status, result.error) == ("refused", "no compressor x")


def test_garbage_on_the_channel_ends_the_machine() -> None:
    result = boot(spec(), machine=ShellMachine("echo garbage >$channel; sleep 100"))
    assert result.status == "lost"
    assert "garbage" in str(result.error)
    assert result.wall_seconds < 10


def test_timeout_kills_everything() -> None:
    start = time.monotonic()
    machine = ShellMachine(f"sleep 100 & echo $! $$; {say(sample('start'))} trap '' TERM; sleep 101; sleep 102")
    result = boot(spec(timeout=0.7), machine=machine)
    assert result.status == "timeout"
    assert time.monotonic() - start < 5
    assert len(result.samples) == 1
    assert all(gone(int(pid)) for pid in result.console.split())


def test_descendants_of_a_machine_that_ended() -> None:
    result = boot(spec(), machine=ShellMachine(f"sleep 100 & echo $!; {ALL}"))
    assert result.status == "ok"
    assert gone(int(result.console))


def test_output_larger_than_any_pipe() -> None:
    line = '{"type": "out", "t": 1.0, "data": "' + "x" * 4000 + '"}'
    machine = ShellMachine(f"i=0; while [ $i -lt 1500 ]; do echo '{line}'; i=$((i+1)); done >$channel; {ALL}")
    assert len(boot(spec(), machine=machine).stdout) == 6_000_000


def test_missing_emulator() -> None:
    class Missing(ShellMachine):
        def launch(self, spec: GuestSpec, files: Files) -> Launch:
            return Launch(["no-such-emulator"], {}, stdout_is_console=False)

    with pytest.raises(ToolError, match="no-such-emulator"):
        boot(spec(), machine=Missing(""))


# Popen returns late in it, when the machine has been running for a while.
PROGRAM = """
import signal, subprocess, sys, time
from tests.guest.fakes import ShellMachine, spec
from vswaplab import cli
from vswaplab.guest import boot
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, cli._terminate)
start = subprocess.Popen
def start_slowly(*args, **options):
    process = start(*args, **options)
    time.sleep(float(sys.argv[2]))
    return process
subprocess.Popen = start_slowly
try:
    boot(spec(timeout=60.0), machine=ShellMachine(f"sleep 100 & echo $! $$ >{sys.argv[1]}; sleep 101"))
except KeyboardInterrupt:
    sys.exit(77)
"""


def start_booting(
    tmp_path: Path, temporary: Path, slowly: float = 0.0
) -> tuple["subprocess.Popen[bytes]", list[int]]:
    """A program of its own that boots; the numbers of the processes of its machine."""
    told = tmp_path / "pids"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(told), str(slowly)],
        cwd=TOP,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    limit = time.monotonic() + 30
    while not (told.is_file() and len(told.read_text().split()) == 2):
        assert time.monotonic() < limit
        time.sleep(0.02)
    return program, [int(pid) for pid in told.read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("slowly", [0.0, 1.5], ids=["started", "starting"])
def test_interrupted(tmp_path: Path, temporary: Path, number: signal.Signals, slowly: float) -> None:
    program, pids = start_booting(tmp_path, temporary, slowly)
    assert all(alive(pid) for pid in pids)
    program.send_signal(number)
    assert program.wait(10) == 77
    assert all(gone(pid) for pid in pids)


def test_machine_dies_with_its_parent(tmp_path: Path, temporary: Path) -> None:
    program, pids = start_booting(tmp_path, temporary)
    program.kill()
    program.wait(10)
    # What the machine itself starts is its own business (User-Mode Linux does the same for it).
    assert gone(pids[1])
    os.kill(pids[0], signal.SIGKILL)
    for directory in temporary.iterdir():
        for file in directory.iterdir():
            file.unlink()
        directory.rmdir()
