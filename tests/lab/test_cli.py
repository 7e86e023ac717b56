# SPDX-License-Identifier: GPL-2.0
"""The command line: exit codes, one line on stderr, and what the commands print."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab import fakes
from vswaplab import cli, paths
from vswaplab.commands import test
from vswaplab.errors import GuestLost, VswapError
from vswaplab.series.stored import Store
from vswaplab.source import linux
from vswaplab.tree.gitrepo import Repo

TOP = Path(__file__).resolve().parents[2]


def vswap(*words: str) -> int:
    return cli.main(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["--nonsense"],
        ["build", "--kernel", "windows"],
        ["build", "--jobs", "many"],
        ["build", "extra"],
        ["fetch", "--nonsense"],
        ["tree", "--build"],
        ["tree", "--force"],
        ["tree", "--export", "--kernel", "windows"],
        ["series"],
        ["series", "x", "--topic"],
        ["tree", "--export", "--from", "/nonexistent"],
        ["footprint", "--nonsense"],
        ["codediff", "--nonsense"],
        ["profile", "--setup", "floppy"],
        ["profile", "--top", "all"],
    ],
)
@pytest.mark.usefixtures("store")
def test_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert vswap(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("vswap: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(VswapError("why"), 1), (GuestLost("why"), 3), (KeyboardInterrupt(), 130), (OSError("why"), 1)],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "run", fail)
    assert vswap("fetch") == code
    assert capsys.readouterr().err.count("\n") == 1


def test_verbose_shows_where_it_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(linux.OVERRIDE, "/nonexistent.tar.xz")
    assert vswap("-v", "fetch") == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback ") and err.splitlines()[-1].startswith("vswap: ")
    assert vswap("fetch") == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], []),
        (["-k", "name", "-x"], ["-k", "name", "-x"]),
        (["--long", "tests/lab", "-q"], ["--long", "tests/lab", "-q"]),
        (["tests/lab", "--long"], ["--long", "tests/lab"]),
        (["--suite", "mm", "-x"], ["--long", "tests/e2e/test_selftests_mm.py", "-x"]),
    ],
)
def test_test_hands_its_arguments_to_pytest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], given: list[str]
) -> None:
    ran, became = pretend(monkeypatch, tmp_path)
    vswap("test", *words)
    assert ran[0][1:] == ["-m", "pytest", *given, "--build-only"]
    assert became[0][1:] == ["-m", "pytest", *given, "-n", "auto", "--maxprocesses", "4", "--dist", "loadscope"]


def test_suites_are_there() -> None:
    assert [path for path in test.SUITES.values() if not (paths.repo_root() / path).is_file()] == []


def pretend(monkeypatch: pytest.MonkeyPatch, path: Path, code: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    """Run nothing. What would have been run, and what this process would have become."""
    ran: list[list[str]] = []
    became: list[list[str]] = []

    def run(argv: list[str], check: bool) -> subprocess.CompletedProcess[str]:
        ran.append(argv)
        return subprocess.CompletedProcess(argv, code)

    monkeypatch.chdir(path)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(os, "execv", lambda program, argv: became.append(argv))
    return ran, became


@pytest.mark.parametrize("word", ["-n2", "-s", "--pdb", "--collect-only"])
def test_test_leaves_how_to_run_to_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, word: str) -> None:
    ran, became = pretend(monkeypatch, tmp_path)
    vswap("test", word)
    assert ran == [] and became[0][1:] == ["-m", "pytest", word]


def test_tests_do_not_run_when_a_kernel_does_not_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran, became = pretend(monkeypatch, tmp_path, code=3)
    assert vswap("test") == 3
    assert len(ran) == 1 and became == []


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as caught:
            vswap(command, "--help")
        assert caught.value.code == 0
        assert f"vswap {command}" in capsys.readouterr().out


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        vswap("--help")
    out = capsys.readouterr().out
    assert all(f"  {command} " in out for command in cli.COMMANDS)


def test_only_the_used_command_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(linux.OVERRIDE, "/nonexistent.tar.xz")  # it fails before anything is fetched
    script = (
        "import sys; from vswaplab import cli; cli.main(['footprint', '--json']);"
        "print([name for name in sys.modules if name.startswith('vswaplab.commands.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "['vswaplab.commands.footprint']" in done.stdout


@pytest.mark.usefixtures("configs", "store")
def test_the_whole_way(stored: linux.Source, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """fetch, tree, a commit, export, build, footprint and series, as a user would type them."""
    assert vswap("fetch") == 0
    assert capsys.readouterr().out == f"Linux 7.3.4: {stored.path}\n"
    tree = tmp_path / "my tree"
    assert vswap("tree", str(tree)) == 0
    assert capsys.readouterr().out == f"{tree}\n"
    (tree / "mm/vswap/more.c").write_text("int more;\n")
    assert vswap("tree", "--export", "--from", str(tree)) == 1
    assert "mm/vswap/more.c" in capsys.readouterr().err
    repo = Repo(tree)
    repo.git("add", "-A")
    repo.commit(f"mm/vswap: more\n\nTopic: vswap\n{fakes.SIGNED}\n")
    assert vswap("tree", "--export", "--from", str(tree)) == 0
    assert capsys.readouterr().out == "patches/03-vswap/0003-mm-vswap-more.patch\nkernel/mm/vswap/more.c\n"
    assert vswap("tree", str(tree), "--export") == 0
    assert capsys.readouterr().out == ""
    assert vswap("build", "--kernel", "vswap", "--flavour", "debug") == 0
    assert capsys.readouterr().out.startswith("vswap-um-debug: ")
    assert vswap("footprint", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "patched_files": 2,
        "patched_lines": 4,
        "own_files": 4,
        "own_lines": 7,
    }
    assert vswap("footprint") == 0
    assert "mm/vswap/more.c" in capsys.readouterr().out
    assert vswap("series", str(tmp_path / "out"), "--topic", "prep") == 0
    assert [Path(line).relative_to(tmp_path).as_posix() for line in capsys.readouterr().out.splitlines()] == [
        "out/squashed/02-prep.patch",
        "out/topics/02-prep/0000-cover-letter.patch",
        "out/topics/02-prep/0001-mm-swap-add-a-hook.patch",
    ]


@pytest.mark.usefixtures("stored")
def test_default_tree_is_refreshed(store: Store, cache: Path) -> None:
    assert vswap("tree") == 0
    (store.kernel / "mm/vswap/zero.c").write_text("late\n")
    assert vswap("tree") == 0
    assert (cache / "tree/vswap/mm/vswap/zero.c").read_text() == "late\n"
    (cache / "tree/vswap/mm/vswap/zero.c").write_text("edited\n")
    (store.kernel / "mm/vswap/zero.c").write_text("later\n")
    assert vswap("tree") == 1
    assert vswap("tree", "--kernel", "mainline") == 0
    assert not (cache / "tree/mainline/mm/vswap").exists()


def test_bad_tarball(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(linux.OVERRIDE, "/nonexistent.tar.xz")
    assert vswap("fetch") == 2
    assert "no such file" in capsys.readouterr().err


def bootstrap(directory: Path, *, dpkg: str | None, sudo: bool = False) -> subprocess.CompletedProcess[str]:
    """Run lab/bootstrap.sh with a PATH of these fakes and little else."""
    fake = directory / "bin"
    programs = {
        "id": "echo 1000",
        "sudo": "exit 0" if sudo else "exit 1",
        "apt-get": f'echo "apt-get $*" >> {directory}/log',
        "env": 'while [ "${1#*=}" != "$1" ]; do shift; done; exec "$@"',
    }
    if sudo:
        programs["sudo"] = 'shift; exec "$@"'
    if dpkg is not None:
        programs["dpkg-query"] = f"printf '{dpkg}'"
    fakes.write_tree(fake, {name: f"#!/bin/sh\n{text}\n" for name, text in programs.items()})
    for path in fake.iterdir():
        path.chmod(0o755)
    for name in "sh dirname readlink cut sha256sum cat mkdir touch tail rm flock true".split():
        (fake / name).symlink_to(f"/usr/bin/{name}")
    environment = {"PATH": str(fake), "HOME": str(directory), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    return subprocess.run(
        ["/bin/sh", str(TOP / "lab/bootstrap.sh")], env=environment, capture_output=True, text=True, check=False
    )


ALL = (
    "gcc libc6-dev make flex bison bc libelf-dev perl git xz-utils ccache ca-certificates python3 python3-venv "
    "qemu-system-x86 redis-server redis-tools numactl e2fsprogs util-linux dmsetup spin"
).split()


def installed(*missing: str) -> str:
    return "".join(f"installed={name} " for name in ALL if name not in missing) + "config-files=flex "


def test_bootstrap_without_root_prints_one_line(tmp_path: Path) -> None:
    done = bootstrap(tmp_path, dpkg=installed("bison", "flex"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "vswap: missing Debian packages; run: sudo apt-get install --no-install-recommends flex bison\n"
    )
    assert not (tmp_path / "log").exists()


def test_bootstrap_installs_with_sudo(tmp_path: Path, cache: Path) -> None:
    """What is missing is installed; then the Python of the environment that exists is printed."""
    key = hashlib.sha256((TOP / "pyproject.toml").read_bytes() + f"{TOP}\n".encode()).hexdigest()[:12]
    fakes.write_tree(cache / "venv" / key, {".complete": ""})
    done = bootstrap(tmp_path, dpkg=installed("bison"), sudo=True)
    assert (done.returncode, done.stdout) == (0, f"{cache}/venv/{key}/bin/python\n")
    log = (tmp_path / "log").read_text()
    assert log == "apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends bison\n"


def test_bootstrap_elsewhere_names_commands(tmp_path: Path) -> None:
    done = bootstrap(tmp_path, dpkg=None)
    assert done.returncode == 1
    assert done.stderr.startswith("vswap: not a Debian system, and these commands are missing: gcc make")

TREE = """
import pytest
@pytest.mark.kernel("vswap", "um", "debug")
def test_moved(built_kernel): pass
@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_has_both(built_kernel): pass
@pytest.mark.kernel("vswap", "um", "bench")
def test_measures(built_kernel): pass
@pytest.mark.kernel("vswap", "um", "debug", checkers=True)
def test_checkers(built_kernel): pass
@pytest.mark.kernel("vswap", "um", "release")
def test_boots_by_itself(): pass
def test_no_guest(): pass
"""


def collected(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What pytest would run of the file TREE, which counts as an end-to-end test."""
    (directory / "e2e").mkdir(exist_ok=True)
    (directory / "e2e/test_some.py").write_text(TREE)
    shutil.copy(paths.repo_root() / "tests/conftest.py", directory)
    argv = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    argv += ["--rootdir", str(directory), *words, str(directory)]
    environment = {**os.environ, "PYTHONPATH": str(paths.repo_root() / "lab")}
    return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)


def test_on_moves_tests_of_user_mode_linux(tmp_path: Path) -> None:
    """Those that compare two machines, measure, boot nothing or always the kernel that they name do not run; on
    release none of the checkers."""
    assert len(re.findall("::test_", collected(tmp_path).stdout)) == 6
    for flavour, others in (("release", []), ("debug", ["test_checkers"])):
        moved = collected(tmp_path, "--on", f"x86_64-{flavour}")
        assert re.findall("::(test_.*)", moved.stdout) == ["test_moved", *others], moved.stdout + moved.stderr


@pytest.mark.parametrize("word", ["x86_64", "arm64-debug", "x86_64-full"])
def test_on_takes_a_machine(tmp_path: Path, word: str) -> None:
    refused = collected(tmp_path, "--on", word)
    assert refused.returncode == 4 and f"'{word}': expected" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "parallel"),
    [([], True), (["tests/e2e", "-k", "edges"], True), (["--coverage", "DIR"], True), (["--coverage=DIR"], True),
     (["-n0"], False), (["-n", "2"], False), (["--numprocesses=2"], False), (["--co"], False), (["-s"], False)],
)  # fmt: skip
def test_tests_run_side_by_side(arguments: list[str], parallel: bool) -> None:
    """Unless the user has said how, or looks at one."""
    assert bool(test.side_by_side(arguments, 2)) == parallel


@pytest.mark.parametrize(
    ("arguments", "cpus", "workers"),
    [([], 2, "auto"), (["--on", "um-release"], 2, "auto"), (["--on", "x86_64-debug"], 1, "1"),
     (["--on", "x86_64-debug"], 2, "1"), (["--on=x86_64-release"], 6, "3")],
)  # fmt: skip
def test_guests_that_are_emulated_have_their_cpus(arguments: list[str], cpus: int, workers: str) -> None:
    """Two each: with both CPUs of the host wanted by two guests, each would wait for the other."""
    chosen = test.side_by_side(arguments, cpus)
    assert chosen[chosen.index("-n") + 1] == workers
