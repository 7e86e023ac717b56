# SPDX-License-Identifier: GPL-2.0
"""The user's own command: found as a shell would, or refused before anything boots."""

import os
import subprocess
from pathlib import Path

import pytest

from vswaplab.errors import UsageError
from vswaplab.run import hostprogram


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that prints its directory, its arguments and two variables, NUL-separated."""
    path = tmp_path / "my program"
    path.write_text('#!/bin/sh\nprintf \'%s\\0\' "$PWD" "$@" "$ODD" "$RESULTS" "${SSH_AUTH_SOCK-unset}"\n')
    path.chmod(0o755)
    return path


def test_arguments_directory_and_environment_survive(tmp_path: Path, program: Path) -> None:
    odd = "a 'b' \"c\" $d `e`\n*"
    environ = {"PATH": os.environ["PATH"], "ODD": odd, "SSH_AUTH_SOCK": "/x", "1bad-name%%": "y"}
    text = hostprogram.script([str(program), odd, "", "--x"], tmp_path, environ, tmp_path)
    around = {"RESULTS": "/r", "LEAK": "1"}
    output = subprocess.run(["/bin/sh", "-c", text], env=around, stdout=subprocess.PIPE, check=True).stdout
    assert output.decode().split("\0")[:-1] == [str(tmp_path), odd, "", "--x", odd, "/r", "unset"]


def test_search(tmp_path: Path, program: Path) -> None:
    found = hostprogram.find_program
    assert found("./my program", tmp_path, "", Path("/none")) == program
    assert found("my program", Path("/"), str(tmp_path), Path("/none")) == program
    assert found("my program", Path("/"), "/none", tmp_path) == program
    assert found("sh", tmp_path, "/usr/bin:/bin", Path("/none")).name == "sh"


@pytest.mark.parametrize("name", ["nosuchprogram", "./nosuchprogram", "/etc/passwd", "/usr", ""])
def test_not_a_program(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no program"):
        hostprogram.find_program(name, tmp_path, "/usr/bin", tmp_path)


def test_what_a_guest_cannot_see(tmp_path: Path, program: Path) -> None:
    with pytest.raises(UsageError, match="current directory"):
        hostprogram.script([str(program)], Path("/proc"), {}, tmp_path)


def test_program_that_a_guest_cannot_see(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostprogram, "HIDDEN", (str(tmp_path),))
    with pytest.raises(UsageError, match="cannot see"):
        hostprogram.find_program(str(program), Path("/"), "", Path("/none"))
