# SPDX-License-Identifier: GPL-2.0
"""The data structures of mm/vswap that need no kernel, under ASAN, LSAN and UBSAN."""

import subprocess
from pathlib import Path

import pytest

from vswaplab.series import stored

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """backing_user, built from the kernel's own header."""
    top = tmp_path_factory.mktemp("userspace")
    out = top / "backing_user"
    for name, content in stored.new_files(stored.ours()).items():
        if Path(name).parent == Path("mm/vswap"):
            (top / Path(name).name).write_bytes(content.data)
    flags = "-std=gnu11 -g -O1 -Wall -Wextra -Werror -fno-sanitize-recover=all -Wno-use-after-free"
    command = ["gcc", *flags.split(), "-fsanitize=address,undefined", f"-I{top}", f"-I{HERE}"]
    subprocess.run([*command, "-o", str(out), str(HERE / "backing_user.c")], check=True)
    return out


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("seed", ["1", "2", "20261121"])
def test_every_object_is_freed_once(program: Path, seed: str) -> None:
    result = run(program, seed)
    assert result.returncode == 0, result.stderr
    assert "objects stored and freed" in result.stdout


@pytest.mark.parametrize(("fault", "report"), [("leak", "LeakSanitizer"), ("double", "double-free")])
def test_the_sanitizers_watch(program: Path, fault: str, report: str) -> None:
    result = run(program, "1", fault)
    assert result.returncode != 0
    assert report in result.stderr
