# SPDX-License-Identifier: GPL-2.0
"""spin searches a model of a backing word's life, and finds the bugs put into it. See backing.pml."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.stress import tally

Note = Callable[[str, object], None]  # the fixture record_property

MODEL = Path(__file__).with_name("backing.pml")

# All actors and contents at one slot; fewer at two slots, which take each other's things.
ONE_SLOT = ("NV=1", "ND=2", "THREADS=1")
TWO_SLOTS = ("NV=2", "ND=1", "THREADS=1", "FEW", "NO_SWAPOFF")

BUGS = re.findall(r"^#if(?:n?def) (BUG_\w+)", MODEL.read_text(), re.MULTILINE)


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def search(directory: Path, defines: Sequence[str]) -> str:
    """What spin's verifier prints. It checks assertions and deadlocks, and ends at the first error."""
    for program in ("spin", "gcc"):
        if shutil.which(program) is None:
            pytest.fail(f"there is no {program}: lab/bootstrap.sh installs the Debian package of that name")
    # Statements are not merged (-o3), so that the verifier tells which were reached.
    run("spin", "-a", "-o3", *(f"-D{define}" for define in defines), MODEL, cwd=directory)
    # More optimisation takes longer than it saves.
    run("gcc", "-Og", "-w", "-DSAFETY", "-DMEMLIM=1800", "-o", "pan", "pan.c", cwd=directory)
    return run(directory / "pan", "-m2000000", cwd=directory)


def states(report: str) -> int:
    """How many states were found. Spin prints large numbers as 2.3e+06."""
    found = re.search(r"([\d.e+]+) states, stored", report)
    assert found, report
    return int(float(found[1]))


def check_complete(report: str, note: Note) -> None:
    """Everything was searched, and nothing found."""
    assert "errors: 0" in report, report
    for incomplete in ("Search not completed", "max search depth too small", "out of memory"):
        assert incomplete not in report, report
    note(f"{tally.FIGURE}states searched", states(report))
    assert re.search(r"invalid end states\s*\+", report) and re.search(r"assertion violations\s*\+", report)


def never_reached(report: str, states: str) -> set[int]:
    """Lines of the model none of whose statements any actor reached; an inline is in several actors."""
    place = r"\bbacking\.pml:(\d+)"
    unreached = Counter(int(n) for n in re.findall(rf"{place}, state \d+, \"(?!-end-)", report))
    once: dict[tuple[str, str], int] = {}
    actor = ""
    for line in states.splitlines():
        if found := re.match(r"proctype (\w+)", line):
            actor = found[1]
        elif found := re.match(rf"\s*state\s+(\d+) -.*{place} => ", line):
            once[actor, found[1]] = int(found[2])
    total = Counter(once.values())
    assert total and unreached.keys() <= total.keys()
    return {line for line, number in unreached.items() if number >= total[line]}


def test_one_slot_all_actors(tmp_path: Path, record_property: Note) -> None:
    report = search(tmp_path, ONE_SLOT)
    check_complete(report, record_property)
    # A choice of another virtual slot, where there is only one, is no gap.
    text = MODEL.read_text().splitlines()
    lines = never_reached(report, run(tmp_path / "pan", "-d", cwd=tmp_path))
    gaps = [f"{n}: {text[n - 1].strip()}" for n in sorted(lines) if "model_some(" not in text[n - 1]]
    assert not gaps


def test_two_slots(tmp_path: Path, record_property: Note) -> None:
    check_complete(search(tmp_path, TWO_SLOTS), record_property)


@pytest.mark.long
def test_two_threads_fault(tmp_path: Path, record_property: Note) -> None:
    check_complete(search(tmp_path, ("NV=1", "ND=1", "THREADS=2")), record_property)


def test_there_are_bugs() -> None:
    assert len(BUGS) >= 2


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_found(tmp_path: Path, record_property: Note, bug: str) -> None:
    report = search(tmp_path, (*ONE_SLOT, bug))
    assert "errors: 1" in report, report
    assert "assertion violated" in report, report
    assert (tmp_path / "backing.pml.trail").is_file()
    record_property(f"{tally.FIGURE}seeded bugs found", 1)


def names() -> set[str]:
    """The functions that the model names: what it defines, and name() in its comments."""
    text = MODEL.read_text()
    found = set(re.findall(r"^(?:inline|active(?: \[\w+\])? proctype|#define) (\w+)\(", text, re.MULTILINE))
    for comment in re.findall(r"/\*.*?\*/", text, re.DOTALL):
        found |= set(re.findall(r"(\w+)\(\)", comment))
    return {name for name in found if not name.startswith("model_")}


def kernel_functions() -> set[str]:
    """The functions of mm/vswap, and those of the base that the patches show."""
    found: set[str] = set()
    for path in (paths.kernel_dir() / "mm/vswap").glob("*.[ch]"):
        found |= set(re.findall(r"^(?:\w[\w *]*[ *])?(\w+)\([^;]*?\)\s*\{", path.read_text(), re.MULTILINE))
    for path in paths.patches_dir().rglob("*.patch"):
        for line in path.read_text().splitlines():
            if line.startswith(("@@", " ", "+")):
                found |= set(re.findall(r"\b(\w+)\(", line))
    return found


def test_the_kernel_has_these_functions() -> None:
    assert {"vswap_land", "vswap_hold_slot", "vswap_overtake", "__vswap_evacuate", "do_swap_page"} <= names()
    assert not names() - kernel_functions()
