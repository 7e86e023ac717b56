# SPDX-License-Identifier: GPL-2.0
"""Swap devices that are in the way, or not needed."""

import re
import shlex
from collections.abc import Iterator

from vswapctl.checks.daemons import running
from vswapctl.doctor import Check, Finding, Machine, zswap_commands
from vswapctl.swaps import deleted
from vswapctl.units import printable, size

# What has a meaning in sed's expressions, or ends them; fstab writes white space as octal numbers.
SPECIAL = re.compile(r"[.*^$|\[\]\\]|\s")


def quote(found: re.Match[str]) -> str:
    """A character of a name as fstab has it, in an expression of sed."""
    return f"\\\\{ord(found[0]):03o}" if found[0].isspace() else f"\\{found[0]}"


def zram_and_zswap(machine: Machine) -> Iterator[Finding]:
    """Pages are compressed twice: zswap writes back to memory that compresses again."""
    devices = machine.snap.devices
    disks = [device.name for device in devices if device.is_zram]
    if not disks or not machine.zswap_on:
        return
    # zswap is to stay where zswap-off asks for it: what one finding proposes must not be the other's.
    if machine.virtual or len(disks) < len(devices):
        commands = [f"sudo vswapctl drain {name}" for name in disks]
    else:
        commands = zswap_commands(machine.kernel, "enabled", "N")
    yield Finding(
        "zram-and-zswap", f"zswap is in front of {', '.join(disks)}: what leaves it is compressed again", commands
    )


def _hibernates(machine: Machine) -> bool:
    """Whether an image of memory is to be written to swap."""
    resume = machine.kernel.word("/sys/power/resume")
    words = (machine.kernel.text("/proc/cmdline") or "").split()
    return resume not in (None, "0:0") or any(word.startswith("resume=") for word in words)


def unused_file(machine: Machine) -> Iterator[Finding]:
    """A file that only zswap needed, which does without it now."""
    if not machine.snap.new_slots or not machine.zswap_on or _hibernates(machine):
        return
    # Their measure of full swap: without any device they kill at once.
    if running(machine.kernel).keys() & {"earlyoom", "nohang"}:
        return
    # Right after the boot it has not been needed either.
    if not machine.snap.vmstat.get("zswpout"):
        return
    # With something on it, it takes what does not compress, or what is old.
    if any(machine.snap.vmstat.get(name, 0) for name in ("vswap_slot_alloc", "pswpout")):
        return
    for device in machine.snap.devices:
        if device.kind == "file" and not device.used and not deleted(machine.kernel, device):
            name = printable(device.name)
            line = f"\\|^{re.sub(SPECIAL, quote, name)}[[:space:]]|d"
            quoted = shlex.quote(name)
            yield Finding(
                "swapfile-unused",
                f"{name} ({size(device.size)}) has not been needed since boot: zswap does without a file. "
                "Keep it if data that does not compress may have to be swapped out, or if you hibernate to it",
                [
                    f"sudo vswapctl drain {quoted}",
                    f"sudo sed -i {shlex.quote(line)} /etc/fstab",
                    f"sudo rm {quoted}",
                ],
            )


CHECKS: tuple[Check, ...] = (zram_and_zswap, unused_file)
