# SPDX-License-Identifier: GPL-2.0
"""What makes a swap disk of zram at boot: files of zram-generator, the service of Debian's zram-tools."""

import re
from collections.abc import Iterator

from vswapctl.kernel import Kernel

NAME = "zram-generator.conf"
# The first of them that is there counts, and drop-ins of all directories.
DIRECTORIES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
SERVICE = "zramswap.service"
UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
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


def service(kernel: Kernel) -> bool:
    """Whether zram-tools' service is there, enabled and not masked. It starts late: after vswap.service."""
    unit = next((text for top in UNITS if (text := kernel.text(f"{top}/{SERVICE}")) is not None), "")
    return bool(unit) and any(
        name.endswith((".wants", ".requires")) and SERVICE in kernel.names(f"{UNITS[0]}/{name}")
        for name in kernel.names(UNITS[0])
    )
