# SPDX-License-Identifier: GPL-2.0
"""What a check of vswapctl doctor looks at, and what it finds."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vswapctl import bootconf, cgroups, snapshot
from vswapctl.kernel import Kernel
from vswapctl.snapshot import Snapshot


class Finding(NamedTuple):
    """Something that stands in the way, and the commands that change it."""

    name: str
    text: str
    commands: list[str]


class Machine(NamedTuple):
    """``top`` is where control groups are, None without cgroup v2's memory controller."""

    kernel: Kernel
    snap: Snapshot
    top: str | None

    @property
    def virtual(self) -> bool:
        """Whether zswap can do without a swap device here."""
        return self.snap.slots is not None

    @property
    def zswap_on(self) -> bool:
        """Whether new pages go to zswap."""
        return self.snap.zswap is not None and self.snap.zswap.enabled

    @property
    def wants_zswap(self) -> bool:
        """Not on a mainline kernel that swaps to zram alone: zswap is off there for good reason."""
        disks = any(not device.is_zram for device in self.snap.devices)
        return self.virtual or self.zswap_on or disks

    def sysctl(self, name: str) -> int | None:
        """vm.NAME."""
        return self.kernel.number(f"/proc/sys/vm/{name}")


Check = Callable[[Machine], Iterator[Finding]]


def sysctl_commands(name: str, value: int) -> list[str]:
    """Set vm.NAME now and at every boot: after /etc/sysctl.conf, which is read as 99-sysctl.conf."""
    setting = f"vm.{name}={value}"
    return [f"sudo sysctl -w {setting}", f"echo {setting} | sudo tee /etc/sysctl.d/99-vswap-{name}.conf"]


def zswap_commands(kernel: Kernel, name: str, value: str) -> list[str]:
    """Set a parameter of zswap now and at every boot, where vswap.service or else tmpfiles.d has it from."""
    file = f"{snapshot.ZSWAP}/{name}"
    now = f"echo {value} | sudo tee {file}"
    lines = kernel.text(bootconf.CONFIG)
    if lines is None:
        return [now, f"echo 'w {file} - - - - {value}' | sudo tee /etc/tmpfiles.d/zswap-{name}.conf"]
    said = {"Y": "yes", "N": "no"}.get(value, value)
    if re.search(rf"(?m)^#*{name} *=", lines):
        return [now, f"sudo sed -i 's/^#*{name} *=.*/{name} = {said}/' {bootconf.CONFIG}"]
    return [now, f"echo '{name} = {said}' | sudo tee -a {bootconf.CONFIG}"]


def examine(kernel: Kernel) -> Machine:
    """Read what the checks need. Raises CannotRead."""
    top = cgroups.mount_point(kernel)
    return Machine(kernel, snapshot.take(kernel, cgroups=top), top)


def findings(machine: Machine) -> list[Finding]:
    """Of all checks."""
    from vswapctl.checks import boot, daemons, devices, groups, memory, zswap

    checks: tuple[Check, ...] = (
        *zswap.CHECKS, *boot.CHECKS, *devices.CHECKS, *memory.CHECKS, *daemons.CHECKS, *groups.CHECKS,
    )  # fmt: skip
    return [finding for check in checks for finding in check(machine)]
