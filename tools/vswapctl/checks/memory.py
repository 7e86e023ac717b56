# SPDX-License-Identifier: GPL-2.0
"""Settings of vm.* that were made for disks."""

from collections.abc import Iterator

from vswapctl.doctor import Check, Finding, Machine, sysctl_commands

LOW_SWAPPINESS = 20


def _only_in_memory(machine: Machine) -> bool:
    """Whether all swap is compressed memory."""
    if any(not device.is_zram for device in machine.snap.devices):
        return False
    return bool(machine.snap.devices) or (machine.virtual and machine.zswap_on)


def _nothing_on_disk(machine: Machine) -> bool:
    """Mainline: there is a disk, but zswap has taken everything since boot."""
    vmstat = machine.snap.vmstat
    return not machine.virtual and machine.zswap_on and vmstat.get("zswpout", 0) > 0 == vmstat.get("pswpout", 1)


def page_cluster(machine: Machine) -> Iterator[Finding]:
    """Reading neighbours ahead gains nothing in memory. Virtual swap does not do it for pages in zswap."""
    value = machine.sysctl("page-cluster")
    zram = bool(machine.snap.devices) and _only_in_memory(machine) and not machine.zswap_on
    if value and (zram or _nothing_on_disk(machine)):
        yield Finding(
            "page-cluster",
            f"vm.page-cluster is {value}: {1 << min(value, 20)} pages are read for one, "
            "which gains nothing without a disk",
            sysctl_commands("page-cluster", 0),
        )


def swappiness(machine: Machine) -> Iterator[Finding]:
    """With a low one the cache of files shrinks before anything is compressed."""
    value = machine.sysctl("swappiness")
    if value is not None and value < LOW_SWAPPINESS and _only_in_memory(machine):
        yield Finding(
            "swappiness",
            f"vm.swappiness is {value}: swap is compressed memory here, much faster than "
            "a disk, but is hardly used",
            sysctl_commands("swappiness", 100),
        )


def overcommit(machine: Machine) -> Iterator[Finding]:
    """With 2 the limit is made from swap devices, and what zswap holds is not counted."""
    if machine.sysctl("overcommit_memory") == 2 and machine.virtual and machine.zswap_on:
        yield Finding(
            "overcommit",
            "vm.overcommit_memory is 2: allocations fail although zswap has room, as "
            "CommitLimit counts RAM and devices only",
            sysctl_commands("overcommit_memory", 0),
        )


CHECKS: tuple[Check, ...] = (page_cluster, swappiness, overcommit)
