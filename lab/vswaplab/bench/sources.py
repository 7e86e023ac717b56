# SPDX-License-Identifier: GPL-2.0
"""Which sources of kernel/ a kernel was compiled from: one checksum, for reports to record."""

import hashlib
from pathlib import Path

from vswaplab import paths
from vswaplab.tree import overlay
from vswaplab.tree.buildtree import BASE_FIXES

BASE = "mainline"


def checksum(kernel: Path, under: str = "") -> str:
    """A checksum over names and content of what is compiled: documentation and tests do not count.

    Only what is under a folder, if one is given.
    """
    digest = hashlib.sha256()
    for name, path in overlay.files(kernel, under):
        if not name.startswith("Documentation/") and "/tests/" not in name:
            data = path.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def of_lab(name: str) -> str:
    """The checksum for one of the lab's kernels, as kernel/ is now."""
    return checksum(paths.kernel_dir(), BASE_FIXES if name == BASE else "")
