# SPDX-License-Identifier: GPL-2.0
"""The commands in the documentation: fenced blocks marked "sh", indented lines, and those within text.

Options have to be those that the program takes, which its own parser says; what is cheap and changes
nothing is run, and so is what runs in a guest. Commands of other programs are in OTHERS, with the reason
why they are not run here.
"""

import argparse
import importlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vswapctl import parser as ctl_parser
from vswapctl.errors import UsageError as CtlUsageError
from vswaplab import cli, paths
from vswaplab.errors import UsageError

TOP = paths.repo_root()
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md")), TOP / "docs/bench/README.md"]
FENCE = re.compile(r"(?m)^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL)
INDENTED = re.compile(r"(?m)^    (?!\s)(.+)$")
INLINE = re.compile(r"`(?:sudo )?((?:\./vswap|vswapctl) [^`]+)`")
VSWAPCTL = ("vswapctl", "tools/bin/vswapctl")
OWN = ("./vswap", "make", *VSWAPCTL)
ROOT = "changes the machine; root's shell"
TREE = "in a tree of the kernel, where the edits of a reader are"
# Indented lines that are no command of the project: what they are, or why they are not run.
OTHERS = {
    "echo Y > /sys/module/zswap/parameters/enabled": ROOT,
    "echo 50 > /sys/module/zswap/parameters/max_pool_percent": ROOT,
    "echo 50 | sudo tee /sys/module/zswap/parameters/max_pool_percent": ROOT,
    "echo Y | sudo tee /sys/module/zswap/parameters/enabled": ROOT,
    "sudo apt install ./build-deb/vswap-tools_0.1.0_all.deb": ROOT + "; tests/packages installs it",
    "sudo apt install ./build-deb/linux-image-*-vswap_*_amd64.deb": ROOT + "; tests/packages installs it",
    "sudo reboot": ROOT,
    "git clone REPOSITORY vswap && cd vswap": "the reader has done it",
    "git commit --fixup=COMMIT && git rebase -i --autosquash base": TREE,
    "git commit --fixup=COMMIT": TREE,
    "git rebase -i --autosquash base": TREE,
}
# Exit codes that a run may have: doctor's 1 says that there are findings on the machine that runs the test.
CODES = {"doctor": {0, 1}}


def bare(line: str) -> str:
    """A line without the remark behind it."""
    return re.sub(r"\s{2,}# .*", "", line).strip()


def indented(page: Path) -> list[str]:
    """The indented lines, without tables and JSON that are shown that way."""
    text = FENCE.sub("", page.read_text())
    return [bare(line) for line in INDENTED.findall(text) if not re.match(r"[┏┃┡│├└{\"|*-]", line)]


def commands(page: Path) -> list[str]:
    """Those of the project: in blocks, and indented."""
    blocks = (match[3] for match in FENCE.finditer(page.read_text()) if match[2] == "sh")
    found = [bare(line) for block in blocks for line in block.splitlines() if line.strip()]
    return [*found, *(line for line in indented(page) if line not in OTHERS)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_what_the_text_mentions(page: Path) -> None:
    """Subcommands and options that are named within text are there; arguments may be left out."""
    for line in INLINE.findall(FENCE.sub("", page.read_text())):
        program, name, *arguments = line.split()
        if name == "COMMAND" or name.startswith("-"):
            continue
        if program == "./vswap":
            assert name in cli.COMMANDS, f"{page.name}: {line}"
            if name == "test":  # its options are pytest's, too
                continue
            said = lab_parser(name).format_help()
        else:
            said = subcommand(name).format_help()
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", " ".join(arguments).partition(" -- ")[0]):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", said), f"{page.name}: {line}: no {option}"


def test_other_commands_are_there_and_parse() -> None:
    """A line that is gone from the documentation goes from the table as well."""
    shown = {line for page in PAGES for line in indented(page)}
    assert OTHERS.keys() <= shown, OTHERS.keys() - shown
    for line in OTHERS:
        subprocess.run(["sh", "-n", "-c", line], check=True)


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


def subcommand(name: str) -> argparse.ArgumentParser:
    """The parser of a subcommand of vswapctl."""
    whole = ctl_parser.build()
    found = next(action for action in whole._actions if isinstance(action, argparse._SubParsersAction))
    parser: argparse.ArgumentParser = found.choices[name]
    return parser


def parse_lab(arguments: list[str]) -> None:
    """Raises UsageError, or ends with 0 after --help."""
    if arguments == ["--help"]:
        return
    assert arguments[0] in cli.COMMANDS, f"no command {arguments[0]}"
    module = importlib.import_module(f"vswaplab.commands.{arguments[0]}")
    if hasattr(module, "REST"):  # what it does not know is for another program
        lab_parser(arguments[0]).parse_known_args(arguments[1:])
        return
    parsed = lab_parser(arguments[0]).parse_args(arguments[1:])
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
    """Programs that a guest runs in the release kernels, unless they stand for the reader's own."""
    _, command = words(line)
    if command[:2] != ["./vswap", "run"] or "--help" in command or len(command) == 2:
        return False
    program = command[command.index("--") + 1] if "--" in command else ""
    return not program or (shutil.which(program) is not None and "my-test-suite" not in line)


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
