# SPDX-License-Identifier: GPL-2.0
"""The machine a benchmark runs on, as far as a reader needs it: no names, no paths."""

import os
import platform
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vswaplab import paths
from vswaplab.build import kbuild
from vswaplab.errors import ToolError
from vswaplab.proc import SYSTEM, Runner


def _field(path: Path, name: str) -> str:
    """The value of the first "NAME : value" line of a file in /proc."""
    found = (
        re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", path.read_text(), re.MULTILINE) if path.is_file() else None
    )
    return found[1].strip() if found else "unknown"


def memory_bytes(name: str = "MemTotal", meminfo: Path = Path("/proc/meminfo")) -> int:
    """A line of /proc/meminfo in bytes; 0 if it is not there."""
    value = _field(meminfo, name).split()
    return int(value[0]) * 1024 if value[0].isdigit() else 0


def _version(argv: Sequence[str], runner: Runner) -> str:
    """The first line a program says about itself; "not installed" if it is not there."""
    try:
        said = runner.run(argv).stdout.splitlines()
    except ToolError:
        return "not installed"
    return said[0].strip() if said else "unknown"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def describe(arch: str, runner: Runner = SYSTEM) -> dict[str, Any]:
    """CPU, memory and software of this machine."""
    flags = _field(Path("/proc/cpuinfo"), "flags").split()
    found = {
        "cpu": _field(Path("/proc/cpuinfo"), "model name"),
        "cpus": os.cpu_count() or 1,
        "mem_bytes": memory_bytes(),
        "virtual_machine": "hypervisor" in flags,
        "distribution": _distribution(),
        "kernel": platform.release(),
        "compiler": kbuild.compiler(runner),
        "python": platform.python_version(),
        "redis": _version(["redis-server", "--version"], runner),
    }
    if arch == "x86_64":
        found["qemu"] = _version(["qemu-system-x86_64", "--version"], runner)
    return found


def commit(runner: Runner = SYSTEM) -> str:
    """The commit of this checkout, "-dirty" added when tracked files differ from it."""
    git = ["git", "-C", str(paths.repo_root())]
    try:
        head = runner.run([*git, "rev-parse", "HEAD"]).stdout.strip()
        changed = runner.run([*git, "status", "--porcelain", "--untracked-files=no"]).stdout.strip()
    except ToolError:
        return "unknown"
    return f"{head}-dirty" if changed else head


def command_line(argv: Sequence[str]) -> str:
    """The command as one would repeat it; of absolute paths only the last part is told."""

    def shorten(word: str) -> str:
        name, equals, value = word.rpartition("=")
        return f"{name}{equals}{Path(value).name}" if value.startswith(("/", "~")) else word

    return shlex.join(["./vswap", *(shorten(word) for word in argv)])
