# SPDX-License-Identifier: GPL-2.0
"""What runs of the tests came to, as docs/reliability/tests.json keeps it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.errors import UsageError
from vswaplab.stress import tally
from vswaplab.stress.tally import Tally

RUN = Tally("tests/e2e", "x86_64-release", 200, 30, ["e2e/test_a.py::b"], 5000, 60.0, "0123456789ab", "2026-11-23")


def test_a_newer_run_takes_the_place_of_the_older(tmp_path: Path) -> None:
    file = tmp_path / "tests.json"
    other = replace(RUN, machine="as marked")
    for run in (RUN, other, replace(RUN, passed=201, lost=[])):
        tally.add(file, run)
    assert tally.read(file) == [other, replace(RUN, passed=201, lost=[])]


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tests.json"
    assert tally.read(file) == []
    file.write_text('[{"suite": "mm"}]')
    with pytest.raises(UsageError, match="no list of runs"):
        tally.read(file)


def counted(directory: Path, *options: str) -> list[Tally]:
    """Run pytest on directory/test_it.py, one of whose tests fails; what there is of it in a new file."""
    top, file = paths.repo_root(), directory / f"{len(options)}{options[0]}.json"
    argv: list[str | Path] = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    argv += ["-c", top / "pyproject.toml", f"--confcutdir={top}", "-p", "tests.conftest", "--tally", file]
    argv += [*options, directory / "test_it.py"]
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return tally.read(file)


def test_pytest_counts(tmp_path: Path) -> None:
    """Passed, skipped and failed tests, and the pages that they say were verified, of two processes."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', range(3))\n"
        "def test_good(n, record_property):\n"
        "    record_property('pages', 10)\n"
        "    record_property('figure: faults', n + 1)\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): pass\n"
        "def test_bad(): assert False\n"
    )
    (run,) = counted(tmp_path, "-n2")
    assert (run.passed, run.skipped, run.pages, run.machine) == (3, 1, 30, "as marked")
    assert [name.rpartition("::")[2] for name in run.lost] == ["test_bad"]
    assert run.figures == {"faults": 6} and run.files == {str(tmp_path / "test_it.py")}
    (part,) = counted(tmp_path, "-k", "good or bad")
    assert part.tests.startswith("-k 'good or bad' ") and part.files == set()
    assert counted(tmp_path, "-x") == []  # it ended at the first failure
