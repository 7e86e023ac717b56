# SPDX-License-Identifier: GPL-2.0
"""Machines that are shell scripts, results made by hand, and the processes of real ones."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestSpec, Sample
from vswaplab.guest.machine import Files, Launch
from vswaplab.guest.samples import from_event

KERNEL = BuiltKernel("vswap", "um", "release", Path("/nowhere"), Path("/nowhere"), Path("/nowhere"), "7.3.4")
MIB = 1 << 20


def spec(**changes: Any) -> GuestSpec:
    """A valid spec, with changes."""
    return GuestSpec(**{"kernel": KERNEL, "script": "true\n", "timeout": 20.0, **changes})


@dataclass
class ShellMachine:
    """A machine that is a shell script: its output is the console, ``$channel`` the channel."""

    script: str
    channel: str = "/dev/channel"
    disk: str = "/dev/disk"
    scratch: str = "/dev/scratch"
    numbered: bool = False
    restart: bool = False
    env: Mapping[str, str] | None = None

    def launch(self, spec: GuestSpec, files: Files) -> Launch:
        """Run the script with the descriptor and the job's directory in variables."""
        text = f"channel=/dev/fd/{files.result_fd}; job={files.dir}; {self.script}"
        return Launch(["/bin/sh", "-c", text], self.env or {}, stdout_is_console=True)


def say(*events: Mapping[str, Any]) -> str:
    """Shell text that sends events over the channel."""
    lines = "\n".join(json.dumps({"t": 1.0, **event}) for event in events)
    return f"cat >$channel <<'END'\n{lines}\nEND\n"


def sample(phase: str = "run", **values: Any) -> dict[str, Any]:
    """A sample event: meminfo in MiB by name, vmstat, vswap and zswap as mappings."""
    meminfo = {"MemTotal": 256, "MemFree": 100, "SwapTotal": 0, "SwapFree": 0, **values.pop("meminfo", {})}
    return {
        "type": "sample", "t": 1.0, "phase": phase,
        "meminfo": {name: size * MIB for name, size in meminfo.items()}, "vmstat": {}, **values,
    }  # fmt: skip


EXIT = {"type": "exit", "code": 0, "seconds": 1.5}
RESULTS = {"type": "results"}
BYE = {"type": "bye"}


def made(phase: str = "run", **values: Any) -> Sample:
    """The Sample of such an event."""
    return from_event(sample(phase, **values))


def processes(directory: Path) -> list[int]:
    """Those that have this directory in their command line, this one excepted: guests of a test."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(directory).encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [pid for pid in found if pid != os.getpid()]
