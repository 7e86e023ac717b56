# SPDX-License-Identifier: GPL-2.0
"""The command line as a whole: usage, exit codes, the manual page, completion."""

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran
from vswapctl import errors, parser

TOOLS = Path(__file__).resolve().parents[2] / "tools"
MANUAL, COMPLETION, PROGRAM = TOOLS / "vswapctl.1", TOOLS / "completion/vswapctl", TOOLS / "bin/vswapctl"


def commands() -> dict[str, argparse.ArgumentParser]:
    actions = parser.build()._actions
    return dict(next(action.choices for action in actions if isinstance(action, argparse._SubParsersAction)))


def options(name: str) -> list[str]:
    found = [option for action in commands()[name]._actions for option in action.option_strings]
    return [option for option in found if option.startswith("--")]


@pytest.mark.parametrize(
    "words",
    [
        [], ["nonsense"], ["--nonsense"], ["status", "extra"], ["status", "--interval", "0"],
        ["status", "--interval", "nan"], ["status", "--interval", "x"], ["top", "--count", "0"], ["cgroup"],
        ["why"], ["why", "--json", "1"], ["drain"], ["mode", "off"], ["doctor", "--output", "x"],
        ["export", "--groups", "-1"], ["stat"], ["status", "--js"],
    ],
)  # fmt: skip
def test_bad_usage(ours: Path, ctl: Ran, words: list[str]) -> None:
    code, out, err = ctl(ours, *words)
    assert (code, out) == (2, "")
    assert err.startswith("vswapctl: ") and err.count("\n") == 1


def test_no_such_root(tmp_path: Path, ctl: Ran) -> None:
    code, _, err = ctl(tmp_path / "none", "status")
    assert code == 2 and "no such directory" in err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], *([name] for name in commands())):
        with pytest.raises(SystemExit) as ended:
            parser.build().parse_args([*words, "--help"])
        out = capsys.readouterr().out
        assert ended.value.code == 0 and "exit codes:" in out
        for code in (errors.OK, errors.FAILED, errors.USAGE, errors.CANNOT_READ, errors.INTERRUPTED):
            assert re.search(rf"^  {code} ", out, re.MULTILINE), out


@pytest.mark.parametrize(("columns", "width"), [("50", 50), ("0", 80), ("x", 80), ("", 80)])
def test_help_fits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    """$COLUMNS decides, or 80 without a terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        parser.build().parse_args(["drain", "--help"])
    options = capsys.readouterr().out.partition("options:")[2].partition("exit codes:")[0]
    assert width - 20 < max(map(len, options.splitlines())) <= width - 2


def test_each_command_has_its_code() -> None:
    names = {path.stem for path in (TOOLS / "vswapctl/commands").glob("*.py")} - {"__init__"}
    assert names == set(commands())


def test_manual() -> None:
    """All commands, all options, all exit codes."""
    text = MANUAL.read_text()
    assert set(re.findall(r"^\.It Cm (\w+)", text, re.MULTILINE)) == set(commands())
    for name in commands():
        for option in options(name):
            assert f"Fl {option[1:]}" in text, (name, option)
    for code in (0, 1, 2, 3, 4, 129, 130, 141, 143):
        assert re.search(rf"^\.It {code}$", text, re.MULTILINE)


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_manual_is_well_formed() -> None:
    ran = subprocess.run(
        ["groff", "-mdoc", "-Tutf8", "-ww", "-z", str(MANUAL)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def completed(*words: str) -> set[str]:
    """What bash offers for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    text = (
        f". {COMPLETION}; COMP_WORDS=(vswapctl {quoted}); COMP_CWORD={len(words)}; _vswapctl;"
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ran = subprocess.run(["bash", "-uc", text], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return set(ran.stdout.split())


def test_completion() -> None:
    assert completed("") == {*commands(), "--root", "--version", "--help"}
    for name in commands():
        assert name in completed(name[:3])
        assert completed(name, "--") == set(options(name)), name
        assert completed("--root", "/", name, "--") == set(options(name)), name
    assert completed("mode", "a") == {"auto", "always"} and completed("why", str(os.getpid())) == {
        str(os.getpid())
    }
    assert completed("top", "--count", "") == set()


def test_completion_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of groups and of swap files are data, whatever is in them."""
    hostile = f"x$(touch {tmp_path.name})x"
    (tmp_path / "cgroup" / hostile).mkdir(parents=True)
    (tmp_path / "swaps").write_text("Filename\n/x$(touch${IFS}c)\tfile 1 0 1\n/dev/vda2 partition 1 0 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VSWAPCTL_CGROUPS", str(tmp_path / "cgroup"))
    monkeypatch.setenv("VSWAPCTL_SWAPS", str(tmp_path / "swaps"))
    assert completed("cgroup", "x") == {"x\\$\\(touch\\", f"{tmp_path.name}\\)x"}
    assert completed("drain", "/") == {"/x\\$\\(touch\\$\\{IFS\\}c\\)", "/dev/vda2"}
    assert completed("drain", "/d") == {"/dev/vda2"}
    assert sorted(os.listdir(tmp_path)) == ["cgroup", "swaps"] and os.listdir("cgroup") == [hostile]


HOSTILE = "zz!x$(touch${IFS}pwned);touch p2;\"'\\ x"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("cgroup zz", ["cgroup", HOSTILE]), ('cgroup "zz', ["cgroup", HOSTILE]),
        ("cgroup 'zz", ["cgroup", HOSTILE]),
        ("cgroup zz\\!x\\$", ["cgroup", HOSTILE]), ("cgroup y", ["cgroup", "y"]), ("cgroup q", ["cgroup", "q"]),
        ("cgroup us", ["cgroup", "user.slice"]), ('cgroup "us', ["cgroup", "user.slice"]),
        ("cgroup system.slice/sys", ["cgroup", "system.slice/system-s\\x2d.slice"]),
        ("drain /x", ["drain", "/x $(touch${IFS}pwned)"]), ('drain "/x', ["drain", "/x $(touch${IFS}pwned)"]),
        ("drain /dev/vda\t2", ["drain", "/dev/vda2"]), ("drain /a", ["drain", "/a 7"]),
        ("--root zz", ["--root", HOSTILE + "/"]), ("export --output zz", ["export", "--output", HOSTILE + "/"]),
        ("stat", ["status"]),
    ],
)  # fmt: skip
def test_tab_and_enter_run_nothing(tmp_path: Path, typed: str, words: list[str]) -> None:
    """What bash inserts is the name, quoted as it stands in the line; a usual name is completed as it is."""
    for name in (HOSTILE, "y`touch p3`", "q\n$(touch p4)", "user.slice", "system.slice/system-s\\x2d.slice"):
        (tmp_path / "cgroup" / name).mkdir(parents=True)
    here = tmp_path / "here"
    (here / HOSTILE).mkdir(parents=True)
    (tmp_path / "swaps").write_text(
        "Filename\n/x\\040$(touch${IFS}pwned) file 1 0 1\n/dev/vda2 partition 1 0 1\n/dev/vda3 partition 1 0 1\n"
        "/a\\0407 file 1 0 1\n"
    )
    (tmp_path / "rc").write_text(
        f". {COMPLETION}\nvswapctl() {{ printf '%s\\0' \"$@\" >../new; mv ../new ../words; }}\n"
        "PS1='ready> '\nbind 'set enable-bracketed-paste off'\n"
    )
    env = {
        "PATH": os.environ["PATH"], "TERM": "dumb", "LANG": "C.UTF-8", "VSWAPCTL_CGROUPS": f"{tmp_path}/cgroup",
        "VSWAPCTL_SWAPS": f"{tmp_path}/swaps",
    }  # fmt: skip
    master, slave = pty.openpty()
    bash = subprocess.Popen(
        ["bash", "--noprofile", "--rcfile", str(tmp_path / "rc"), "-i"],
        stdin=slave, stdout=slave, stderr=slave, cwd=here, env=env, start_new_session=True,
    )  # fmt: skip
    try:
        seen, end, asked = b"", time.monotonic() + 30, False
        while not (tmp_path / "words").exists():
            assert time.monotonic() < end, seen
            if select.select([master], [], [], 0.05)[0]:
                seen += os.read(master, 65536)
            if not asked and b"ready> " in seen:
                os.write(master, f"vswapctl {typed}\t\n".encode())
                asked = True
    finally:
        bash.kill()
        bash.wait()
        os.close(master)
        os.close(slave)
    assert (tmp_path / "words").read_text().split("\0")[:-1] == words
    assert os.listdir(here) == [HOSTILE] and not list(tmp_path.glob("**/p[2-4]"))


def program(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, **more)


def test_programs(ours: Path, tmp_path: Path) -> None:
    """The launcher, also by a link, and the package, from any directory."""
    link = tmp_path / "link"
    link.symlink_to(PROGRAM)
    for name in (PROGRAM, link):
        assert program(str(name), "--root", str(ours), "mode", cwd="/").stdout == "auto\n"
    env = {**os.environ, "PYTHONPATH": str(TOOLS)}
    assert program("-m", "vswapctl", "--root", str(ours), "mode", cwd="/", env=env).stdout == "auto\n"
    assert os.access(PROGRAM, os.X_OK)


def test_terminal_without_unicode(ours: Path) -> None:
    fakes.write(ours, {"/proc/swaps": fakes.swaps(("/sw\u00e4p", "file", 1, 0, 1))})
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = program(str(PROGRAM), "--root", str(ours), "status", env=env)
    assert ran.returncode == 0 and "/sw?p" in ran.stdout


def test_reader_goes_away(ours: Path) -> None:
    text = f"{sys.executable} {PROGRAM} --root {ours} status | true; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 141) and ran.stderr == ""


def test_output_cannot_be_written(ours: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, str(PROGRAM), "--root", str(ours), "status"], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip
    assert ran.returncode == 1 and "No space left" in ran.stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("status >&-", 1, "vswapctl: cannot write to standard output: Bad file descriptor\n"),
        ("doctor --json >&-", 1, "vswapctl: cannot write to standard output: Bad file descriptor\n"),
        ("--help >&-", 1, "vswapctl: cannot write to standard output: Bad file descriptor\n"),
        ("status >/dev/full", 1, "vswapctl: cannot write to standard output: No space left on device\n"),
        ("mode <&- >/dev/null", 0, ""),
        ("mode 2>&- >/dev/null", 0, ""),
        ("mode bad 2>&-", 2, ""),
        ("status <&- >&- 2>&-", 1, ""),
        ("export --output prom <&- >&-", 0, ""),
    ],
)  # fmt: skip
def test_closed_streams(ours: Path, tmp_path: Path, command: str, code: int, said: str) -> None:
    """As cron, a service or a full disk has them: one line, a code, no traceback; a file gets what is its own."""
    text = f'exec "$0" "$1" --root "$2" {command}'
    argv = ["bash", "-c", text, sys.executable, str(PROGRAM), str(ours)]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", said)
    if "--output" in command:
        assert (tmp_path / "prom").read_text().startswith("# HELP vswap_")


def nobody(*words: str) -> "subprocess.CompletedProcess[str]":
    """As a user without rights, with the system's Python: the one of the tests may be in root's home."""
    start = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from vswapctl.cli import main"
    return subprocess.run(
        ["/usr/bin/python3", "-c", f"{start}; sys.exit(main(sys.argv[1:]))", *words],
        user=65534, group=65534, extra_groups=[], cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_without_root_rights() -> None:
    """On the real machine: nothing fails for lack of rights that need not."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else; for others all tests are this one")
    if not os.path.exists("/usr/bin/python3") or nobody("--version").returncode != 0:
        pytest.skip("no Python here that nobody may use, or one that is too old")
    for words in (["status"], ["status", "--json"], ["doctor"], ["export"], ["why", "1"]):
        ran = nobody(*words)
        assert ran.returncode == 0 or (words == ["doctor"] and ran.returncode == 1), ran
        assert ran.stderr == "" and ran.stdout
    assert "needs root" in nobody("why", "1").stdout
    for words in (["drain", "/dev/nothing"], ["mode", "auto"]):
        assert nobody(*words).returncode in (2, 3)


def test_fakes_are_what_they_say(tmp_path: Path) -> None:
    """Sizes that the tests rely on."""
    assert fakes.PAGES * os.sysconf("SC_PAGE_SIZE") == fakes.MIB
