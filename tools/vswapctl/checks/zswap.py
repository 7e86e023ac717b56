# SPDX-License-Identifier: GPL-2.0
"""zswap itself: on or off, its compressor, its pool, and the mode of virtual swap."""

from collections.abc import Iterator

from vswapctl.doctor import Check, Finding, Machine, zswap_commands
from vswapctl.swaps import only_zram
from vswapctl.units import percent, printable, size

# Below this a pool without a device behind it is little swap: at 3:1 less RAM than there is.
LOW_PERCENT = 35
GOOD_PERCENT = 50


def off(machine: Machine) -> Iterator[Finding]:
    """zswap is off, or not in the kernel, where it would be used."""
    if not machine.wants_zswap:
        return
    if machine.snap.zswap is None:
        yield Finding(
            "zswap-missing",
            "this kernel has no zswap: boot one with CONFIG_ZSWAP=y",
            ["grep CONFIG_ZSWAP= /boot/config-$(uname -r)"],
        )
    elif not machine.snap.zswap.enabled:
        gain = "what is swapped out goes to devices" if machine.snap.devices else "there is no swap at all"
        now, later = zswap_commands(machine.kernel, "enabled", "Y")
        drains = []
        if only_zram(machine.snap.devices):
            # Only for good once nothing is compressed twice.
            drains = [f"sudo vswapctl drain {device.name}" for device in machine.snap.devices]
            gain = (
                "swap is on zram, a disk of a fixed size; zswap is to take its place, not to stand in front of it"
            )
        yield Finding("zswap-off", f"zswap is off: {gain}", [now, *drains, later])


def mode(machine: Machine) -> Iterator[Finding]:
    """Virtual swap is there and not used."""
    if machine.snap.slots and machine.snap.slots.mode == "never":
        yield Finding("mode-never", "the mode of virtual swap is never", ["sudo vswapctl mode auto"])


def compressor(machine: Machine) -> Iterator[Finding]:
    """zswap is on, and the kernel does not know its compressor."""
    zswap = machine.snap.zswap
    crypto = machine.kernel.lines("/proc/crypto")
    if not crypto or zswap is None or not zswap.enabled or not zswap.compressor:
        return
    named = {line.partition(":")[2].strip() for line in crypto if line.startswith(("name", "driver"))}
    if zswap.compressor not in named:
        name = printable(zswap.compressor)
        yield Finding(
            "compressor-missing",
            f"the compressor {name} is not loaded: zswap cannot use it",
            [f"sudo modprobe crypto-{name}", *zswap_commands(machine.kernel, "compressor", name)],
        )


def pool(machine: Machine) -> Iterator[Finding]:
    """The pool is full, or may take little where it is all the swap there is."""
    zswap = machine.snap.zswap
    if zswap is None or not zswap.enabled or zswap.max_percent is None or zswap.fill is None:
        if zswap is not None and zswap.enabled and zswap.max_percent == 0:
            yield Finding(
                "pool-small",
                "zswap's pool may take nothing (max_pool_percent is 0)",
                zswap_commands(machine.kernel, "max_pool_percent", str(GOOD_PERCENT)),
            )
        return
    more = zswap_commands(
        machine.kernel, "max_pool_percent", str(max(GOOD_PERCENT, min(90, zswap.max_percent + 15)))
    )
    alone = machine.virtual and not machine.snap.devices
    # Otherwise it writes back, and is as full as it should be.
    if zswap.fill >= 0.9 and zswap.max_percent < 90 and not machine.snap.device_room:
        yield Finding(
            "pool-full",
            f"zswap's pool is at {percent(zswap.pool, zswap.limit)} of its limit of {size(zswap.limit)}",
            more,
        )
    elif alone and zswap.max_percent < LOW_PERCENT:
        yield Finding(
            "pool-small",
            f"zswap's pool may take {zswap.max_percent} % of RAM ({size(zswap.limit)}), "
            "meant for a cache in front of a disk: without a device it is all the swap there is",
            more,
        )


CHECKS: tuple[Check, ...] = (off, mode, compressor, pool)
