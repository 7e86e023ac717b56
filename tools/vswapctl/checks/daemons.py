# SPDX-License-Identifier: GPL-2.0
"""Programs that kill others when memory runs short, and judge that by swap devices."""

import os
import shlex
from collections.abc import Iterator

from vswapctl import cgroups
from vswapctl.doctor import Check, Finding, Machine
from vswapctl.kernel import Kernel, as_number
from vswapctl.units import printable

# By the name in /proc/PID/comm, which is cut to 15 characters. What each does without a device.
DAEMONS = {
    "earlyoom": (
        "earlyoom.service",
        "it takes SwapTotal of 0 for swap that is full, and kills as soon as 10 % of RAM are left",
    ),
    "nohang": (
        "nohang.service",
        "it takes SwapTotal of 0 for swap that is full, and ends programs when 5 % of RAM are left",
    ),
    "systemd-oomd": (
        "systemd-oomd.service",
        "its limit of used swap never applies: only groups with ManagedOOMMemoryPressure=kill are watched",
    ),
}
UNITS = (
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/etc/systemd/system",
    "/usr/lib/systemd/system",
)
# Lower limits of available memory do not help earlyoom and nohang: it comes near 0 before anything is
# swapped out. The kernel's own OOM killer knows what is in zswap. A small device, which is used
# when zswap is full, gives them something to look at.
REMEDY = {
    "earlyoom": ["sudo systemctl disable --now earlyoom.service"],
    "nohang": ["sudo systemctl disable --now nohang.service nohang-desktop.service"],
    "systemd-oomd": ["sudo systemctl set-property -- -.slice ManagedOOMMemoryPressure=kill"],
}


def running(kernel: Kernel) -> dict[str, int]:
    """Which of them run: name and pid."""
    found = {}
    for name in kernel.names("/proc"):
        if name.isdigit():
            comm = kernel.word(f"/proc/{name}/comm") or ""
            if comm.startswith("python"):  # of a script that was started by env(1)
                comm = os.path.basename("".join((kernel.text(f"/proc/{name}/cmdline") or "").split("\0")[1:2]))
            if comm in DAEMONS:
                found[comm] = int(name)
            elif comm == "nohang-desktop":
                found["nohang"] = int(name)
    return found


def settled(kernel: Kernel, name: str) -> bool:
    """Whether its remedy, or the like, has been applied; others have none but to stop them."""
    return name == "systemd-oomd" and any(
        "ManagedOOMMemoryPressure=kill" in (kernel.text(f"{top}/{unit}/{file}") or "").split()
        for top in UNITS
        for unit in ("-.slice.d", "slice.d", "user.slice.d", "system.slice.d", "user@.service.d")
        for file in kernel.names(f"{top}/{unit}")
    )


def _unit(kernel: Kernel, name: str, pid: int) -> str:
    """The service that has started it: nohang runs under one of two. Its usual one if that is not known."""
    last = (cgroups.of_process(kernel, pid) or "").rpartition("/")[2]
    return last if last.endswith(".service") else DAEMONS[name][0]


def _started(kernel: Kernel, pid: int) -> float | None:
    """When a process was started: seconds since the epoch."""
    after_name = (kernel.text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    ticks = as_number(after_name[19]) if len(after_name) > 19 else None
    boot = kernel.table("/proc/stat").get("btime")
    return None if ticks is None or boot is None else boot + ticks / os.sysconf("SC_CLK_TCK")


def _later_swap(kernel: Kernel, started: float) -> str | None:
    """A swap unit that systemd has started after a moment."""
    for name in kernel.names("/run/systemd/units"):
        if name.startswith("invocation:") and name.endswith(".swap"):
            when = kernel.changed(f"/run/systemd/units/{name}")
            if when is not None and when > started + 1:  # btime is exact to a second
                return name.removeprefix("invocation:")
    return None


def oom_daemons(machine: Machine) -> Iterator[Finding]:
    """They know swap devices only, or were started before there was one."""
    alone = machine.virtual and machine.zswap_on and not machine.snap.devices
    for name, pid in running(machine.kernel).items():
        what = DAEMONS[name][1]
        started = _started(machine.kernel, pid)
        later = _later_swap(machine.kernel, started) if started and machine.snap.devices else None
        if alone and not settled(machine.kernel, name):
            yield Finding(
                "oom-daemon", f"{name} (pid {pid}) looks at swap devices, and there is none: {what}", REMEDY[name]
            )
        elif later:
            yield Finding(
                "oom-daemon-early",
                f"{name} (pid {pid}) was started before {later}: it may not know of it",
                [f"sudo systemctl restart {shlex.quote(printable(_unit(machine.kernel, name, pid)))}"],
            )


CHECKS: tuple[Check, ...] = (oom_daemons,)
