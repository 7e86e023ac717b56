# SPDX-License-Identifier: GPL-2.0
"""The demonstration that "make run" shows, on both architectures."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def demonstrate(tmp_path: Path, *options: str) -> dict[str, Any]:
    """Run it; the results of the kernel with virtual swap."""
    report = tmp_path / "run.json"
    command = [sys.executable, "-m", "vswaplab", "run", "--kernel", "vswap", "--json", str(report), *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    result = json.loads(report.read_text())
    assert isinstance(result, dict)
    return result


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("swap", ["none", "file:1G"])
def test_on_user_mode_linux(tmp_path: Path, swap: str) -> None:
    """With a disk zswap writes back what does not fit, and it comes back as clean pages."""
    result = demonstrate(tmp_path, "--swap", swap)
    assert result["splats"] == []
    swapcheck, redis = result["runs"]
    assert swapcheck["workload"]["verified"] is True and redis["workload"]["verified"] is True
    for run in swapcheck, redis:
        assert (run["device_slots_peak"] > 0) == (swap != "none")


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize("cpus", ["1", "2"])
@pytest.mark.parametrize("round_", range(10))
def test_on_x86_64(tmp_path: Path, cpus: str, round_: int) -> None:
    """Clusters are twice as large there: starting to swap with no memory left is harder."""
    result = demonstrate(tmp_path, "--arch", "x86_64", "--cpus", cpus)
    assert result["workload"]["verified"] is True
    assert result["splats"] == []
