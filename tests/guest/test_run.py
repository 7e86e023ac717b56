# SPDX-License-Identifier: GPL-2.0
"""vswap run with programs of one's own, in real machines."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.guest.fakes import processes
from vswaplab.build.kbuild import BuiltKernel

TOP = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "vswaplab", "run"]
pytestmark = pytest.mark.kernel("vswap", "um", "release")


@pytest.fixture(autouse=True)
def temporary(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory for temporary files; no file, machine or mount of a run may be left at the end."""
    monkeypatch.setenv("TMPDIR", str(temporary))
    mounts = Path("/proc/self/mounts").read_text()
    yield temporary
    limit = time.monotonic() + 5
    while processes(temporary) and time.monotonic() < limit:
        time.sleep(0.05)
    assert processes(temporary) == []
    assert Path("/proc/self/mounts").read_text() == mounts


class Ran:
    """A run that has ended; ``json`` is empty if it wrote none."""

    def __init__(self, directory: Path, words: tuple[str, ...]) -> None:
        report = directory / "run.json"
        command = [*RUN, "--json", str(report), *words]
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=300, check=False)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.json: dict[str, Any] = json.loads(report.read_text()) if report.is_file() else {}

    @property
    def rows(self) -> dict[str, str]:
        """The table of results."""
        cells = [line.split("│") for line in self.out.splitlines() if line.startswith("│")]
        return {row[1].strip(): row[2].strip() for row in cells}


def ran(directory: Path, *words: str) -> Ran:
    """Run it to its end."""
    return Ran(directory, words)


def test_scratch_disk(tmp_path: Path) -> None:
    """It takes what memory would not, is there whatever else is, and keeps what its file system keeps."""
    script = """
        [ "$SCRATCH" = /scratch ] && cd $SCRATCH && grep " /scratch " /proc/mounts &&
        dd if=/dev/zero of=large bs=1M count=300 && [ $(stat -c %s large) = 314572800 ] &&
        dd if=/dev/zero of=swap bs=1M count=8 && mkswap swap && swapon swap && swapoff swap &&
        setpriv --reuid 65534 touch other
    """
    for swap in ("none", "file:16M"):
        result = ran(tmp_path, "--mem", "96M", "--scratch", "512M", "--swap", swap, "--", "sh", "-c", script)
        assert result.code == 0, result.out + result.err
        assert result.out.startswith("/dev/ubdc /scratch ext2 rw")
        assert (result.json["scratch_bytes"], result.json["splats"]) == (512 << 20, [])


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize(("swap", "device"), [("none", "/dev/vda"), ("file:16M", "/dev/vdb")])
def test_scratch_disk_and_results_under_qemu(tmp_path: Path, swap: str, device: str) -> None:
    script = "grep /scratch /proc/mounts; echo x >/scratch/x && mkdir $RESULTS/d && cp /scratch/x $RESULTS/d"
    options = ["--arch", "x86_64", "--swap", swap, "--scratch", "64M", "--results", str(tmp_path / "r")]
    result = ran(tmp_path, *options, "--", "sh", "-c", script)
    assert result.code == 0, result.out + result.err
    assert result.out.startswith(f"{device} /scratch ext2 rw")
    assert (tmp_path / "r/d/x").read_text() == "x\n"


def test_cgroup_version_1(tmp_path: Path) -> None:
    script = """
        cd /sys/fs/cgroup && mkdir memory/a && cd memory/a &&
        echo 32M >memory.limit_in_bytes && echo 64M >memory.memsw.limit_in_bytes &&
        cat memory.memsw.limit_in_bytes && echo $$ >tasks
    """
    result = ran(tmp_path, "--cgroup", "1", "--", "sh", "-c", script)
    assert result.code == 0, result.out + result.err
    assert result.out.startswith(f"{64 << 20}\n")
    assert result.json["cgroup"] == 1


def test_results_are_handed_back_whatever_the_program_returned(tmp_path: Path) -> None:
    script = """
        cd $RESULTS && mkdir -p a/b empty && seq 300000 >a/b/text && head -c 9000000 /dev/urandom >large &&
        sha256sum large >sum && ln -s a/b/text link && exit 5
    """
    target = tmp_path / "results"
    result = ran(tmp_path, "--results", str(target), "--", "sh", "-c", script)
    assert (result.code, result.json["workload"]["exit_code"]) == (1, 5)
    assert sorted(path.name for path in target.rglob("*")) == ["a", "b", "empty", "large", "link", "sum", "text"]
    assert (target / "link").read_text() == "".join(f"{n}\n" for n in range(1, 300001))
    subprocess.run(["sha256sum", "--quiet", "-c", "sum"], cwd=target, check=True)
    # Into an empty directory too; into a full one never.
    empty = tmp_path / "empty"
    empty.mkdir()
    assert ran(tmp_path, "--results", str(empty), "--", "sh", "-c", "echo 1 >$RESULTS/one").code == 0
    assert (empty / "one").read_text() == "1\n"
    again = ran(tmp_path, "--results", str(empty), "--", "true")
    assert again.code == 2 and "not empty" in again.err


def test_run_out_of_time_hands_back_what_there_is(tmp_path: Path) -> None:
    """Also from a program that a signal does not end, and that does not let go of its output."""
    target = tmp_path / "results"
    script = "trap '' TERM; echo 1 >$RESULTS/one; ln -s one $RESULTS/link; (sleep 100)& while :; do sleep 1; done"
    result = ran(tmp_path, "--timeout", "6", "--results", str(target), "--", "sh", "-c", script)
    assert result.code == 3 and "--timeout" in result.err and "what there was" in result.err
    assert sorted(path.name for path in target.iterdir()) == ["link", "one"]
    assert (target / "link").read_text() == "1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "run.json", "temporary"]
    # Its log is named where one looks.
    log = Path(result.json["console"])
    assert str(log) in result.out and "Linux version" in log.read_text()


def test_result_of_a_program(tmp_path: Path) -> None:
    result = ran(tmp_path, "--", "true")
    assert (result.code, result.rows["result"], result.rows["pool limit"]) == (0, "exit 0", "90 %")
    assert result.json["workload"]["verified"] is None
    assert (result.json["result"], result.json["pool_percent"]) == ("exit 0", 90)
    first = Path(result.json["console"])
    result = ran(tmp_path, "--swap", "file:64M", "--", "sh", "-c", "exit 3")
    assert (result.code, result.rows["result"], result.rows["pool limit"]) == (1, "exit 3", "20 %")
    assert first.is_file() and Path(result.json["console"]) != first


def test_swapcheck_is_said_to_be_verified(tmp_path: Path) -> None:
    result = ran(tmp_path, "--", "swapcheck", "--size", "16M")
    assert (result.code, result.rows["result"]) == (0, "verified")
    assert result.json["workload"]["verified"] is True


def test_kernel_of_the_users(tmp_path: Path, built_kernel: Callable[[str, str, str], BuiltKernel]) -> None:
    """An image that nothing else is known of: mode and all other options work the same."""
    image = built_kernel("vswap", "um", "release").image
    options = ["--kernel", f"theirs={image}", "--mode", "always", "--scratch", "16M"]
    result = ran(tmp_path, *options, "--", "grep", "/scratch", "/proc/mounts")
    assert result.code == 0, result.out + result.err
    assert (result.json["kernel"], result.json["mode"]) == ("theirs", "always")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_run_in_the_background_is_interrupted(
    tmp_path: Path, temporary: Path, number: signal.Signals, code: int
) -> None:
    """As a shell starts it: with SIGINT ignored. Nothing is left (see ``temporary``), its log excepted."""
    options = ["--scratch", "64M", "--swap", "file:64M", "--results", str(tmp_path / "results")]
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *RUN, *options, "--", "sh", "-c", "echo up; sleep 1000"]
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stderr is not None
        assert program.stdout.readline() == "up\n"
        assert processes(temporary)
        program.send_signal(number)
        assert program.wait(20) == code
        said = program.stderr.read()
    log = Path(said.split("log is ")[1].splitlines()[0])
    assert "Linux version" in log.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["temporary"]
