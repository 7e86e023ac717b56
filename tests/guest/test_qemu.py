# SPDX-License-Identifier: GPL-2.0
"""Real guests under QEMU (what is common to both machines is tested under User-Mode Linux)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec, boot

pytestmark = [
    pytest.mark.long,
    pytest.mark.kernel("vswap", "x86_64", "release"),
    pytest.mark.usefixtures("temporary"),
]
Booter = Callable[..., GuestResult]


@pytest.fixture
def run(built_kernel: Callable[[str, str, str], BuiltKernel]) -> Booter:
    """Boot the release kernel with a script."""

    def boot_one(script: str, **changes: Any) -> GuestResult:
        return boot(GuestSpec(built_kernel("vswap", "x86_64", "release"), script, **{"timeout": 120.0, **changes}))

    return boot_one


@pytest.mark.parametrize("cpus", [1, 4])
def test_run_with_a_disk(run: Booter, cpus: int) -> None:
    result = run("nproc; cat /proc/swaps; echo err >&2; echo 1 >$RESULTS/one; exit 5", cpus=cpus, swap="file:64M")
    assert result.splats == []
    assert (result.status, result.exit_code) == ("ok", 5)
    assert result.stdout.startswith(f"{cpus}\n")
    assert "/dev/vda" in result.stdout
    assert (result.stderr, result.files) == ("err\n", {"one": "1\n"})
    assert result.swapoff_seconds is not None


def test_host_files_are_seen_and_never_changed(run: Booter, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("from the host\n")
    result = run(f"cd {tmp_path} && cat file && echo changed >file && cat file && touch new")
    assert result.output == "from the host\nchanged\n"
    assert (tmp_path / "file").read_text() == "from the host\n"
    assert not (tmp_path / "new").exists()


def test_kernel_that_cannot_start(run: Booter) -> None:
    assert run("true", extra_cmdline=["init=/nonexistent"]).status == "panic"


def test_time_limit(run: Booter) -> None:
    result = run("sleep 1000", timeout=15.0)
    assert result.status == "timeout"
    assert result.wall_seconds < 30


def test_output_of_any_bytes(run: Booter) -> None:
    result = run("seq 30000")
    assert result.stdout == "".join(f"{n}\n" for n in range(1, 30001))
