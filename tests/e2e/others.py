# SPDX-License-Identifier: GPL-2.0
"""Programs of Debian packages in guests: what they are run on. docs/monitoring.md has what came of it.

Each runs on virtual swap without a device, and on mainline with what people have there. What is not
installed is skipped.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.common import MIB
from vswaplab.guest import GuestResult

HERE = Path(__file__).parent
FILLED = HERE / "filled_in_guest.py"
SEARCH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin:/lib/systemd:/usr/lib/postgresql/15/bin"

MACHINES: dict[str, dict[str, Any]] = {
    "none": {"kernel": "vswap", "pool_percent": 90},
    "small device": {"kernel": "vswap", "swap": "file:64M", "pool_percent": 50},
    "disk": {"kernel": "mainline", "swap": "file:512M", "pool_percent": None},
    "zram": {"kernel": "mainline", "swap": "zram:512M", "zswap": False, "pool_percent": None},
}
COMPARED = ("none", "disk", "zram")


def machine(name: str) -> dict[str, Any]:
    """The arguments of boot_guest()."""
    return {"flavour": "release", "mem_bytes": 256 * MIB, "cpus": 2, "timeout": 300.0, **MACHINES[name]}


def needs(program: str, package: str) -> str:
    """The path of a program; skips the test if it is not there."""
    found = shutil.which(program, path=SEARCH)
    if found is None:
        pytest.skip(f"{program} is not installed (Debian: {package})")
    return found


def installed(program: str) -> str:
    return shutil.which(program, path=SEARCH) or "true"


def meminfo(result: GuestResult) -> dict[str, int]:
    """In KB."""
    pairs = (line.split() for line in result.files["meminfo"].splitlines())
    return {pair[0].rstrip(":"): int(pair[1]) for pair in pairs}


def both(test: Any) -> Any:
    """Marks a test that runs on both kernels."""
    for kernel in ("mainline", "vswap"):
        test = pytest.mark.kernel(kernel, "um", "release")(test)
    return pytest.mark.long(test)


each_machine = pytest.mark.parametrize("name", COMPARED)
