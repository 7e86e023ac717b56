# SPDX-License-Identifier: GPL-2.0
"""What makes a swap disk of zram at boot: zram-generator and its files, the service of Debian's zram-tools."""

import re
from collections.abc import Iterator

from vswapctl.kernel import Kernel

NAME = "zram-generator.conf"
# The first of them that is there counts, and drop-ins of all directories.
DIRECTORIES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
# The first of them that is there counts; a link to /dev/null, or an empty file, says that it is not to run.
GENERATORS = tuple(
    f"{top}/systemd/system-generators/zram-generator"
    for top in ("/run", "/etc", "/usr/local/lib", "/usr/lib", "/lib")
)
OPTION = "systemd.zram"
YES, NO = ("1", "yes", "true", "on"), ("0", "no", "false", "off")
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


def _runs(kernel: Kernel) -> bool:
    """Whether zram-generator is there: Debian leaves its file in /etc when the package is removed."""
    starts = (kernel.chunk(name, 0, 1) for name in GENERATORS)
    return bool(next((start for start in starts if start is not None), b""))


def _said(kernel: Kernel) -> str | None:
    """The boot parameter that turns zram-generator on or off: the last of them; it outranks the files."""
    said = None
    for word in (kernel.text("/proc/cmdline") or "").split():
        name, equals, value = word.partition("=")
        if name == OPTION and (not equals or value in YES + NO):
            said = word
    return said


def _off(parameter: str | None) -> bool:
    return parameter is not None and parameter.partition("=")[2] in NO


def parameter(kernel: Kernel) -> str | None:
    """The boot parameter that has zram-generator make zram0, whatever files say; None without."""
    said = _said(kernel)
    return said if not _off(said) and _runs(kernel) else None


def files(kernel: Kernel) -> Iterator[str]:
    """Files with a disk for swap that zram-generator reads."""
    if _off(_said(kernel)) or not _runs(kernel):
        return
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


def generated(kernel: Kernel) -> bool:
    """Whether zram-generator makes a disk for swap."""
    return parameter(kernel) is not None or any(files(kernel))


def service(kernel: Kernel) -> bool:
    """Whether zram-tools' service is there, enabled and not masked. It starts late: after vswap.service."""
    unit = next((text for top in UNITS if (text := kernel.text(f"{top}/{SERVICE}")) is not None), "")
    return bool(unit) and any(
        name.endswith((".wants", ".requires")) and SERVICE in kernel.names(f"{UNITS[0]}/{name}")
        for name in kernel.names(UNITS[0])
    )
