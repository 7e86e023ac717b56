# SPDX-License-Identifier: GPL-2.0
"""vswap run without a machine: what it refuses, its time limit, its logs, and where results go."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.guest.fakes import BYE, EXIT, KERNEL, RESULTS, ShellMachine, sample, say, spec
from vswaplab import cli, paths
from vswaplab.bench import kernels
from vswaplab.commands import run
from vswaplab.errors import UsageError
from vswaplab.guest import GuestResult, GuestSpec, boot
from vswaplab.guest.boot import job_text, scratch_type
from vswaplab.guest.qemu import Qemu
from vswaplab.guest.results import ResultTree
from vswaplab.guest.spec import Status, parse_swap
from vswaplab.guest.um import UserModeLinux
from vswaplab.run import runlog
from vswaplab.run.report import Report, Verdict
from vswaplab.run.resultsdir import ResultsDir

ALL = say(sample("start"), EXIT, sample("end"), BYE)
OWN = ["--", "true"]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory for logs."""
    monkeypatch.setattr(runlog, "directory", lambda: tmp_path / "log")
    return tmp_path / "log"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kernel", "windows", *OWN], "windows"),
        (["--kernel", "", *OWN], "no kernel"),
        (["--kernel", "vswap=/tmp", *OWN], "another name"),
        (["--kernel", "theirs=/nonexistent", *OWN], "/nonexistent"),
        (["--scratch", "much", *OWN], "much"),
        (["--scratch", "4K", *OWN], "scratch"),
        (["--scratch", "1000000T", *OWN], "TMPDIR"),
        (["--scratch", "1G"], "COMMAND"),
        (["--results", "new"], "COMMAND"),
        (["--results", "full", *OWN], "not empty"),
        (["--results", "full/file", *OWN], "no directory"),
        (["--results", "not/there", *OWN], "cannot write"),
        (["--cgroup", "3", *OWN], "--cgroup"),
        (["--cgroup", "x", *OWN], "number"),
        (["--timeout", "soon", *OWN], "--timeout"),
        (["--timeout", "-1", *OWN], "time limit"),
        (["--timeout", "nan", *OWN], "time limit"),
        (["--pool", "0", *OWN], "pool"),
        (["--json", "full", *OWN], "cannot write"),
        (["--", "no-such-program"], "no-such-program"),
        (["--nonsense"], "--nonsense"),
    ],
)
@pytest.mark.usefixtures("nothing_is_built")
def test_bad_input(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("vswap: ") and captured.err.count("\n") == 1
    assert said in captured.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full"]


def test_kernels_are_those_of_bench(tmp_path: Path) -> None:
    assert [kernels.one(name) for name in ("mainline", "vswap", "vswap-off")] == kernels.choose(
        ["mainline", "vswap", "vswap-off"], []
    )
    (tmp_path / "0001-a.patch").touch()
    assert kernels.one(f"theirs={tmp_path}") == kernels.choose([], [f"theirs={tmp_path}"])[0]


def test_image_that_may_not_be_executed(tmp_path: Path) -> None:
    image = tmp_path / "vmlinux"
    image.write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match="executed"):
        kernels.get(kernels.one(f"x={image}"), "um", "release")


def parsed(*words: str) -> Any:
    """The options of a command line."""
    parser = cli.Parser()
    run.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("word", ["none", "0", "0.0", "inf"])
def test_no_time_limit(word: str) -> None:
    wanted = run._spec(parsed("--timeout", word), KERNEL)
    wanted.check()
    assert wanted.timeout == float("inf")
    assert boot(spec(timeout=wanted.timeout), machine=ShellMachine(f"sleep 0.3; {ALL}")).status == "ok"


def test_time_limit_tells_how_to_change_it() -> None:
    failed = Report("x", spec(), GuestResult(status="timeout"), Verdict(0, None))
    assert "--timeout" in str(failed.failure())


def test_mode_reaches_a_kernel_of_the_users() -> None:
    theirs = kernels._image(kernels.Choice("theirs", "image", Path(sys.executable)), "um", "release")
    assert run._spec(parsed("--mode", "always"), theirs).extra_cmdline == ["vswap=always"]
    assert run._spec(parsed(), theirs).extra_cmdline == []
    assert run._spec(parsed("--mode", "always"), KERNEL).extra_cmdline == []


@pytest.mark.parametrize(("words", "pool"), [([], 90), (["--swap", "file:1G"], None), (["--pool", "7"], 7)])
def test_pool(words: list[str], pool: int | None) -> None:
    assert run._spec(parsed(*words), KERNEL).pool_percent == pool


def test_job_of_scratch_and_results(tmp_path: Path) -> None:
    none, disk = parse_swap("none"), parse_swap("file:8M")
    wanted = spec(scratch=8 << 20, scratch_mounted=True, results=tmp_path)
    assert "scratch /dev/ubdc\nall_results 1\n" in job_text(wanted, UserModeLinux(), none)
    assert "scratch /dev/vda\n" in job_text(wanted, Qemu(), none)
    assert "scratch /dev/vdb\n" in job_text(wanted, Qemu(), disk)
    # A benchmark's is its own business.
    plain = job_text(spec(scratch=8 << 20), Qemu(), none)
    assert "scratch" not in plain and "results" not in plain


@pytest.mark.parametrize(
    ("config", "kind"),
    [("CONFIG_EXT4_FS=y\n", "ext4"), ("# CONFIG_EXT4_FS is not set\n", "ext2"), (None, "ext2")],
)
def test_file_system_that_the_kernel_has(tmp_path: Path, config: str | None, kind: str) -> None:
    if config is not None:
        (tmp_path / ".config").write_text(config)
    assert scratch_type(tmp_path / ".config") == kind


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("config", ["CONFIG_EXT4_FS=y\n", ""])
def test_scratch_disk_is_sparse_and_has_a_file_system(tmp_path: Path, config: str) -> None:
    (tmp_path / ".config").write_text(config)
    built = KERNEL.__class__(**{**KERNEL.__dict__, "config": tmp_path / ".config"})
    script = f"stat -c '%s %b' $job/scratch; od -An -tx2 -j1080 -N2 $job/scratch; {ALL}"
    wanted = spec(kernel=built, scratch=4 << 30, scratch_mounted=True)
    size, blocks, magic = boot(wanted, machine=ShellMachine(script)).console.split()
    assert (int(size), magic) == (4 << 30, "ef53")
    assert int(blocks) * 512 < 4 << 20


@pytest.mark.usefixtures("temporary")
def test_results_of_a_guest_come_as_they_are(tmp_path: Path) -> None:
    events = [
        {"type": "directory", "name": "a"},
        {"type": "file", "name": "a/b", "data": "x\x00"},
        {"type": "file", "name": "a/b", "data": "\xff"},
        {"type": "file", "name": "\xc3\xa4", "data": ""},
        {"type": "link", "name": "l", "data": "a/b"},
    ]
    result = boot(spec(results=tmp_path), machine=ShellMachine(say(EXIT, *events, RESULTS, BYE)))
    assert result.status == "ok" and result.results_came and result.files == {}
    assert (tmp_path / "a/b").read_bytes() == b"x\x00\xff" == (tmp_path / "l").read_bytes()
    assert (tmp_path / "l").is_symlink() and (tmp_path / "ä").read_bytes() == b""


FILE, LINK = {"type": "file", "name": "a", "data": "x"}, {"type": "link", "name": "l", "data": "a"}


@pytest.mark.usefixtures("temporary")
def test_results_when_the_time_is_over(tmp_path: Path) -> None:
    """The guest ends its script, and is waited for; one that was not asked for results is not."""
    late = ShellMachine(f"sleep 1; {say({'type': 'timeout'}, FILE)} sleep 1; {say(LINK, RESULTS, BYE)}")
    result = boot(spec(timeout=0.2, results=tmp_path), machine=late)
    assert (result.status, result.results_came, result.exit_code) == ("timeout", True, None)
    assert (tmp_path / "l").read_text() == "x"
    assert boot(spec(timeout=0.2), machine=late).wall_seconds < 1


@pytest.mark.usefixtures("temporary")
def test_guest_that_hangs_is_waited_for_while_it_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word buys it the same time again; without one it is given up, and nothing is handed back."""
    monkeypatch.setattr(sys.modules["vswaplab.guest.boot"], "GRACE", 1.5)
    pieces = "".join(f"{say(FILE)} sleep 1; " for _ in range(3))
    hung = ShellMachine(f"sleep 0.5; {say({'type': 'timeout'})} {pieces} sleep 100")
    result = boot(spec(timeout=0.1, results=tmp_path), machine=hung)
    assert (result.status, result.results_came) == ("timeout", False)
    assert (tmp_path / "a").read_text() == "xxx" and result.wall_seconds < 20


@pytest.mark.usefixtures("temporary")
def test_results_of_a_guest_that_fails_after_them(tmp_path: Path) -> None:
    panic = "echo 'Kernel panic - not syncing: x'"
    result = boot(spec(results=tmp_path), machine=ShellMachine(f"{say(EXIT, FILE, RESULTS)} {panic}"))
    assert (result.status, result.results_came) == ("panic", True)


def test_job_of_a_time_limit(tmp_path: Path) -> None:
    none = parse_swap("none")
    assert "time_limit 2\n" in job_text(spec(timeout=1.2, results=tmp_path), UserModeLinux(), none)
    for wanted in (spec(), spec(timeout=float("inf"), results=tmp_path), spec(results=tmp_path, icount=True)):
        assert "time_limit" not in job_text(wanted, UserModeLinux(), none)


@pytest.mark.parametrize(("status", "came", "said"), [
    ("ok", True, ""),
    ("timeout", True, "what there was when COMMAND was ended"),
    ("timeout", False, "no results"),
])  # fmt: skip
def test_what_is_said_of_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    status: Status, came: bool, said: str,
) -> None:  # fmt: skip
    target = tmp_path / "new"

    def run_one(wanted: GuestSpec, program: Any, quiet: bool) -> Report:
        assert wanted.results is not None
        (wanted.results / "one").write_text("1\n")
        code = 0 if status == "ok" else None
        result = GuestResult(status=status, exit_code=code, seconds=1.0, results_came=came)
        return Report(program.title, wanted, result, Verdict(0, None))

    monkeypatch.setattr(run, "run_one", run_one)
    monkeypatch.setattr(kernels, "get", lambda *_words, **_options: KERNEL)
    assert cli.main(["run", "--results", str(target), "--", "true"]) == (0 if status == "ok" else 3)
    assert (target / "one").exists() == came
    words = [line for line in capsys.readouterr().err.splitlines() if str(target) in line]
    assert (said in words[0]) if said else not words


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "", ".", "a\0"])
def test_result_that_leads_elsewhere(tmp_path: Path, name: str) -> None:
    tree = ResultTree(tmp_path)
    with pytest.raises(ValueError, match="bad name"):
        tree.add(name, b"x")


def test_results_go_through_no_link(tmp_path: Path) -> None:
    top, other = tmp_path / "top", tmp_path / "other"
    top.mkdir()
    other.mkdir()
    tree = ResultTree(top)
    tree.link("l", str(other).encode())
    with pytest.raises(OSError):
        tree.add("l/x", b"x")
    tree.finish()
    assert list(other.iterdir()) == []


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_results_are_whole_or_not_there(tmp_path: Path, exists: bool, kept: bool) -> None:
    target = tmp_path / "dir"
    if exists:
        target.mkdir()
    with ResultsDir(target) as results:
        (results.collected / "a").mkdir()
        (results.collected / "a/b").write_text("x")
        assert not (target / "a").exists()
        if kept:
            results.keep()
    assert [path.name for path in tmp_path.rglob("*")] == (["dir", "a", "b"] if kept else ["dir"] * exists)


def test_every_run_has_its_log_and_the_newest_are_kept(logs: Path) -> None:
    made = []
    for number in range(runlog.KEEP + 5):
        made.append(runlog.new("vswap-um-release", "my program/x", now=1e9 + number // 2))
        os.utime(made[-1], (1e9 + number, 1e9 + number))
    assert len(set(made)) == len(made)
    assert set(logs.iterdir()) == set(made[5:])
    assert made[0].name.startswith("console-vswap-um-release-my_program_x-2001")


@pytest.mark.usefixtures("temporary")
def test_log_of_a_run_that_was_interrupted(tmp_path: Path) -> None:
    def interrupt(_stream: str, _data: bytes) -> None:
        raise KeyboardInterrupt

    machine = ShellMachine(f"echo booting; {say({'type': 'out', 'data': 'x'})} sleep 100")
    with pytest.raises(KeyboardInterrupt):
        boot(spec(on_output=interrupt), machine=machine, console=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "booting\n"


def test_interrupted_demonstration_writes_what_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second of its runs is interrupted."""
    ended: list[Report] = []

    def run_one(wanted: Any, program: Any, quiet: bool) -> Report:
        if ended:
            raise KeyboardInterrupt
        result = GuestResult(status="ok", exit_code=0, seconds=1.0)
        ended.append(Report(program.title, wanted, result, Verdict(512 << 20, True)))
        return ended[0]

    monkeypatch.setattr(run, "run_one", run_one)
    monkeypatch.setattr(kernels, "get", lambda *_words, **_options: KERNEL)
    report = tmp_path / "json"
    assert cli.main(["run", "--kernel", "vswap", "--json", str(report)]) == 130
    content = json.loads(report.read_text())
    assert (content["title"], content["result"]) == ("swapcheck", "verified")
    assert "verified" in capsys.readouterr().out


def test_sigint_is_not_ignored_in_the_background() -> None:
    script = (
        "import os, signal; from vswaplab import cli;"
        "cli.run = lambda _options: os.kill(os.getpid(), signal.SIGINT) or 0;"
        "raise SystemExit(cli.main(['footprint']))"
    )
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", script]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "vswap: interrupted\n")


def test_nohup_is_respected() -> None:
    script = (
        "import os, signal; from vswaplab import cli;"
        "cli.run = lambda _options: os.kill(os.getpid(), signal.SIGHUP) or 0;"
        "raise SystemExit(cli.main(['footprint']))"
    )
    # Not by a shell: it cannot take back that the tests themselves were started with nohup.
    before = signal.getsignal(signal.SIGHUP)
    try:
        for action, code in ((signal.SIG_IGN, 0), (signal.SIG_DFL, 129)):
            signal.signal(signal.SIGHUP, action)
            command = [sys.executable, "-c", script]
            assert subprocess.run(command, stderr=subprocess.PIPE, check=False).returncode == code
    finally:
        signal.signal(signal.SIGHUP, before)


# Two signals: the second comes while a machine is being taken down, which takes a while here.
TWICE = """
import os, signal, sys, threading, time
from tests.guest.fakes import ShellMachine, spec
from vswaplab.guest import boot
module = sys.modules["vswaplab.guest.boot"]
end = module.end_group
def end_slowly(process):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    end(process)
module.end_group = end_slowly
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    boot(spec(timeout=60.0), machine=ShellMachine("sleep 100"))
except KeyboardInterrupt:
    sys.exit(77)
"""


def test_second_interrupt_leaves_nothing_either(temporary: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    top = paths.repo_root()
    default = ["env", "--default-signal=INT", sys.executable, "-c", TWICE]
    assert subprocess.run(default, cwd=top, env=environment, check=False, timeout=60).returncode == 77
    assert list(temporary.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is not None
