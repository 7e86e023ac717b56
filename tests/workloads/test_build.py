# SPDX-License-Identifier: GPL-2.0
"""Building the guest programs: static, once, and sound under the sanitizers."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vswaplab import paths
from vswaplab.build import workloads
from vswaplab.errors import BuildError

if TYPE_CHECKING:
    from tests.workloads.conftest import Program

PT_INTERP = 3
SANITIZE = "EXTRA_CFLAGS=-fsanitize=address,undefined -fno-sanitize-recover=all"


def segment_types(path: Path) -> list[int]:
    """The types of an ELF file's program headers."""
    data = path.read_bytes()
    assert data[:5] == b"\x7fELF\x02"
    offset, size, count = *struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54)
    return [int(struct.unpack_from("<I", data, offset + i * size)[0]) for i in range(count)]


@pytest.mark.parametrize("name", ["usemem", "swapcheck"])
def test_static(programs: Path, name: str) -> None:
    assert os.access(programs / name, os.X_OK)
    assert PT_INTERP not in segment_types(programs / name)


@pytest.fixture
def own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources to spoil, and an empty cache."""
    copy = tmp_path / "workloads"
    shutil.copytree(paths.workloads_dir(), copy)
    monkeypatch.setattr(paths, "workloads_dir", lambda: copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return copy


def test_rebuilt_only_when_a_source_changes(own_copy: Path) -> None:
    first = workloads.build()
    made = (first / "usemem").stat().st_mtime_ns
    assert workloads.build() == first
    assert (first / "usemem").stat().st_mtime_ns == made
    with (own_copy / "common/util.h").open("a") as header:
        header.write("/* changed */\n")
    second = workloads.build()
    assert second != first and (second / "usemem").is_file()


def test_a_source_that_does_not_compile(own_copy: Path, tmp_path: Path) -> None:
    (own_copy / "common/util.c").write_text("int broken(void) { return missing; }\n")
    with pytest.raises(BuildError, match=r"do not compile: .*missing"):
        workloads.build()
    left = [path.name for path in (tmp_path / "cache/vswap/workloads").iterdir()]
    assert left == [".lock"], "nothing half-made may stay"


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs with the address and undefined-behaviour sanitizers (these need shared libraries)."""
    out = tmp_path_factory.mktemp("sanitized")
    argv = ["make", "-C", str(paths.workloads_dir()), f"OUT={out}", "STATIC=", SANITIZE]
    argv += [str(out / "swapcheck"), str(out / "usemem")]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **paths.MAKE_ENV})
    assert done.returncode == 0, done.stderr
    return out


def test_swapcheck_under_sanitizers(sanitized: Path, run: Program) -> None:
    args = ["--mode", "all", "--allow-skip", "--size", "4M", "--seconds", "1", "--zero", "10", "--same", "5"]
    args += ["--text", "20", "--random", "5", "--processes", "2", "--passes", "3", "--rewrite", "25", "--pageout"]
    ran = run(sanitized / "swapcheck", *args, "--ksm-wait", "1", "--json", limited=False)
    assert ran.code == 0, ran.err
    assert "ERROR: " not in ran.err and "runtime error" not in ran.err
    spoilt = run(sanitized / "swapcheck", "--size", "4M", "--corrupt", "7:other", limited=False)
    assert spoilt.code == 1 and "runtime error" not in spoilt.err


def test_usemem_under_sanitizers(sanitized: Path, run: Program) -> None:
    for extra in ([], ["-O", "-R", "-y", "-x", "-n", "3", "--repeat", "2"]):
        ran = run(sanitized / "usemem", "--json", "-r", *extra, "4M", limited=False)
        assert ran.code == 0 and ran.json()["verified"] is True, ran.err
