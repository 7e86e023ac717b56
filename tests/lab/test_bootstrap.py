# SPDX-License-Identifier: GPL-2.0
"""lab/bootstrap.sh, with a python and a dpkg-query that do nothing: which environments it keeps."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from vswaplab import paths

SCRIPT = paths.repo_root() / "lab/bootstrap.sh"
PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && touch "$3/pyvenv.cfg"
"""
LONG_AGO = 40 * 24 * 3600  # seconds


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that stand for the real ones, before all others."""
    packages = re.search(r'^packages="([^"]*)"', SCRIPT.read_text(), re.MULTILINE)
    assert packages
    installed = " ".join(f"installed={name}" for name in packages[1].split())
    for name, text in {"python3": PYTHON, "dpkg-query": f"#!/bin/sh\necho '{installed} '\n"}.items():
        paths.write_file(tmp_path / "bin" / name, text.encode(), 0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")


def checkout(directory: Path) -> Path:
    (directory / "lab").mkdir(parents=True)
    shutil.copy2(SCRIPT, directory / "lab")
    (directory / "pyproject.toml").write_text("x\n")
    return directory


def environment(of: Path) -> tuple[Path, str]:
    """The environment that the script gives this checkout, and what it says."""
    done = subprocess.run([of / "lab/bootstrap.sh"], capture_output=True, text=True, check=True)
    python = Path(done.stdout.strip())
    assert python.name == "python" and python.is_file()
    return python.parents[1], done.stderr


def age(found: Path) -> None:
    """Let its last use be long ago."""
    for name in (".complete", "pyvenv.cfg"):
        os.utime(found / name, (time.time() - LONG_AGO,) * 2)


def test_environment_of_a_checkout_that_is_gone(tmp_path: Path) -> None:
    first, second = checkout(tmp_path / "a b"), checkout(tmp_path / "second")
    gone, said = environment(first)
    assert "making" in said and (gone / ".checkout").read_text() == f"{first}\n"
    kept, _ = environment(second)
    shutil.rmtree(first)
    assert environment(second) == (kept, ""), "nothing is looked for when there is nothing to make"
    _, said = environment(checkout(tmp_path / "third"))
    assert f"removing the Python environment of {first}: {gone}" in said
    assert not gone.exists() and kept.is_dir()


def test_environment_that_nobody_uses(tmp_path: Path) -> None:
    first, second = checkout(tmp_path / "first"), checkout(tmp_path / "second")
    unused, used = environment(first)[0], environment(second)[0]
    age(unused)
    age(used)
    environment(second)
    (first / "pyproject.toml").write_text("another\n")
    now = environment(first)[0]
    assert not unused.exists() and used.is_dir() and now.is_dir()


def test_environments_of_unknown_origin(tmp_path: Path) -> None:
    """Those of an older version of the script: kept while they are used, and learnt when they are."""
    one, two, three = (checkout(tmp_path / name) for name in ("one", "two", "three"))
    used, unused, cut_short = (environment(each)[0] for each in (one, two, three))
    for found in (used, unused):
        (found / ".checkout").unlink()
        age(found)
    os.utime(used / "pyvenv.cfg", (time.time(), time.time() - LONG_AGO))  # read, not written
    (cut_short / ".complete").unlink()
    _, said = environment(checkout(tmp_path / "four"))
    assert used.is_dir() and not unused.exists() and not cut_short.exists()
    assert f"of an unknown checkout: {unused}\n" in said
    assert environment(one)[0] == used and (used / ".checkout").read_text() == f"{one}\n"


def test_what_only_tests_use_may_be_missing(tmp_path: Path) -> None:
    """It cannot be installed here: the tests that need it are skipped, the lab works."""
    for name in ("apt-get", "sudo"):
        paths.write_file(tmp_path / "bin" / name, b"#!/bin/sh\nexit 1\n", 0o755)
    found, said = environment(checkout(tmp_path / "first"))
    assert "chromium" not in said
    script = tmp_path / "first/lab/bootstrap.sh"
    done = subprocess.run([script, "tests"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{found}/bin/python\n"
    assert "chromium" in done.stderr and "are skipped" in done.stderr
