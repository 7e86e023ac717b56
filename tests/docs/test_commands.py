# SPDX-License-Identifier: GPL-2.0
"""The commands in docs/*.md: fenced blocks marked "sh" hold commands that are checked.

Each has to be one of the project: ./vswap, make, vswapctl. Its options have to be those that the
program takes, which its own parser says; what is cheap and changes nothing is run.
"""

import argparse
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from vswapctl import parser as ctl_parser
from vswapctl.errors import UsageError as CtlUsageError
from vswaplab import cli, paths
from vswaplab.errors import UsageError

TOP = paths.repo_root()
PAGES = sorted((TOP / "docs").glob("*.md"))
FENCE = re.compile(r"(?m)^( *)```sh\n(.*?)^\1```$", re.DOTALL)
VSWAPCTL = ("vswapctl", "tools/bin/vswapctl")
# Exit codes that a run may have: doctor's 1 says that there are findings on the machine that runs the test.
CODES = {"doctor": {0, 1}}


def commands(page: Path) -> list[str]:
    """The lines of a page's blocks."""
    blocks = (match[2] for match in FENCE.finditer(page.read_text()))
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


ALL = [pytest.param(page.name, line, id=f"{page.stem}: {line[:50]}") for page in PAGES for line in commands(page)]


def words(line: str) -> tuple[dict[str, str], list[str]]:
    """Variables that are set for a command, and its words, sudo left out."""
    found = shlex.split(line)
    variables = {}
    while found and re.fullmatch(r"[A-Z_]+=.*", found[0]):
        name, _, value = found.pop(0).partition("=")
        variables[name] = value
    return variables, found[1:] if found[:1] == ["sudo"] else found


def lab_parser(name: str) -> argparse.ArgumentParser:
    """The parser of a subcommand of ./vswap, as cli.run() makes it."""
    module = importlib.import_module(f"vswaplab.commands.{name}")
    found = cli.Parser(prog=f"vswap {name}", allow_abbrev=False)
    module.add_arguments(found)
    return found


def parse_lab(arguments: list[str]) -> None:
    """Raises UsageError, or ends with 0 after --help."""
    if arguments == ["--help"]:
        return
    assert arguments[0] in cli.COMMANDS, f"no command {arguments[0]}"
    parsed = lab_parser(arguments[0]).parse_args(arguments[1:])
    module = importlib.import_module(f"vswaplab.commands.{arguments[0]}")
    check = getattr(module, "_check", None)
    if check is not None:  # what can be wrong before anything is built
        check(parsed, bool(parsed.command)) if arguments[0] == "run" else check(parsed)


def parse_make(arguments: list[str]) -> None:
    """Every target is in the Makefile; "make -n" knows what it would do."""
    targets = [word for word in arguments if "=" not in word and not word.startswith("-")]
    known = set(re.findall(r"(?m)^([a-z][a-z-]*):", (TOP / "Makefile").read_text()))
    assert targets and set(targets) <= known, f"no target: {sorted(set(targets) - known)}"
    subprocess.run(["make", "-n", *arguments], cwd=TOP, check=True, capture_output=True)


@pytest.mark.parametrize(("page", "line"), ALL)
def test_it_parses(page: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, command = words(line)
    try:
        if command[0] == "./vswap":
            parse_lab(command[1:])
        elif command[0] == "make":
            parse_make(command[1:])
        elif command[0] in VSWAPCTL:
            ctl_parser.build().parse_args(command[1:])
        else:
            pytest.fail(
                f"{page}: {command[0]} is no program of the project: indent the line instead of fencing it"
            )
    except SystemExit as end:
        assert end.code == 0, capsys.readouterr().err


def cheap(line: str) -> bool:
    """Whether it takes no time, changes nothing, and needs no root and no kernel."""
    _, command = words(line)
    if line.startswith("sudo"):
        return False
    if command[0] == "make":
        return command[1:] == ["help"]
    if command[0] == "./vswap":
        return "--help" in command or command[1:] in (["bench", "--list"],)
    return command[1] in ("status", "doctor", "--help", "--version")


CHEAP = [case for case in ALL if cheap(str(case.values[1]))]


@pytest.mark.parametrize(("page", "line"), CHEAP)
def test_it_runs(page: str, line: str) -> None:
    """On this machine, with the Python that runs the test."""
    _, command = words(line)
    if command[0] == "./vswap":
        argv = [sys.executable, "-m", "vswaplab", *command[1:]]
    elif command[0] in VSWAPCTL:
        argv = [sys.executable, str(TOP / "tools/bin/vswapctl"), *command[1:]]
    else:
        argv = command
    done = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False, timeout=120)
    codes = CODES.get(command[1], {0})
    assert done.returncode in codes, f"{page}: {line}: {done.returncode}: {done.stderr}"
    assert done.stdout


def in_guest(line: str) -> bool:
    """Programs that a guest runs: those of the tutorial, in the release kernels."""
    _, command = words(line)
    return command[:2] == ["./vswap", "run"] and "--help" not in command and len(command) > 2


GUESTS = [case for case in ALL if in_guest(str(case.values[1]))]


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
@pytest.mark.parametrize(("page", "line"), GUESTS)
def test_it_runs_in_a_guest(page: str, line: str) -> None:
    """Each as it stands there."""
    argv = [sys.executable, "-m", "vswaplab", *words(line)[1][1:]]
    done = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, f"{page}: {line}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_the_pages_have_commands() -> None:
    assert len(ALL) > 15 and len(CHEAP) >= 5 and len(GUESTS) >= 5


@pytest.mark.parametrize(
    "line",
    [
        "./vswap run --memory 1G -- true",
        "./vswap fly",
        "make tea",
        "vswapctl statsu",
        "./vswap run --mem 5X -- true",
        "rm -r x",
    ],
)
def test_a_wrong_command_is_found(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the test is for."""
    with pytest.raises((UsageError, CtlUsageError, AssertionError, pytest.fail.Exception)):
        test_it_parses("page", line, capsys)


LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as they are shown on the web."""
    found = re.findall(r"(?m)^#+ (.*)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for file, anchor in LINK.findall(page.read_text()):
        target = page.parent / file if file else page
        assert target.exists(), f"{page.name}: no {file}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text()), f"{page.name}: no #{anchor} in {target.name}"
