# SPDX-License-Identifier: GPL-2.0
"""What a check of vswapctl doctor looks at, and what it finds."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from vswapctl import cgroups, snapshot
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
    """Set vm.NAME now and at every boot."""
    setting = f"vm.{name}={value}"
    return [f"sudo sysctl -w {setting}", f"echo {setting} | sudo tee /etc/sysctl.d/90-vswap-{name}.conf"]


def zswap_commands(name: str, value: str) -> list[str]:
    """Set a parameter of zswap now and at every boot."""
    file, rule = f"{snapshot.ZSWAP}/{name}", f"/etc/tmpfiles.d/zswap-{name}.conf"
    return [f"echo {value} | sudo tee {file}", f"echo 'w {file} - - - - {value}' | sudo tee {rule}"]


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
