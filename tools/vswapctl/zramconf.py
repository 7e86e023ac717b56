# SPDX-License-Identifier: GPL-2.0
"""zram-generator's files: which of them make a swap disk of zram at boot."""

import re
from collections.abc import Iterator

from vswapctl.kernel import Kernel

NAME = "zram-generator.conf"
# The first of them that is there counts, and drop-ins of all directories.
DIRECTORIES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
SECTION = re.compile(r"\s*\[(zram\d+)\]")
MOUNTED = re.compile(r"\s*mount-point\s*=\s*\S")


def _makes_swap(kernel: Kernel, path: str) -> bool:
    """Whether a section is there that has no mount point: a disk with one is no swap."""
    swap: dict[str, bool] = {}
    section = ""
    for line in kernel.lines(path):
        if found := SECTION.match(line):
            section = found[1]
            swap.setdefault(section, True)
        elif section and MOUNTED.match(line):
            swap[section] = False
    return any(swap.values())


def files(kernel: Kernel) -> Iterator[str]:
    """Files with a disk for swap that zram-generator reads."""
    first = next((name for name in (f"{top}/{NAME}" for top in DIRECTORIES) if kernel.exists(name)), None)
    if first and _makes_swap(kernel, first):
        yield first
    seen = set()
    for top in DIRECTORIES:
        for name in kernel.names(f"{top}/{NAME}.d"):
            path = f"{top}/{NAME}.d/{name}"
            if name.endswith(".conf") and name not in seen and _makes_swap(kernel, path):
                yield path
            seen.add(name)
