# SPDX-License-Identifier: GPL-2.0
"""Control groups that may not be swapped."""

import shlex
from collections.abc import Iterator

from vswapctl import cgroups
from vswapctl.doctor import Check, Finding, Machine
from vswapctl.units import printable

MOST = 8  # groups that are named


def _forbidden(machine: Machine, top: str) -> Iterator[str]:
    """The uppermost groups with memory.swap.max=0 that do not use zswap instead."""
    kernel, above = machine.kernel, "//"
    for group in (*(["/"] if cgroups.limited(kernel, top) else []), *cgroups.groups(kernel, top)):
        if group.startswith(above) or kernel.limit(f"{top}{group}/memory.swap.max") != 0:
            continue
        limit = kernel.limit(f"{top}{group}/memory.zswap.max")
        explicit = isinstance(limit, int) and limit > 0
        if not (machine.snap.new_slots and explicit):
            above = group.rstrip("/") + "/"
            yield group


def not_swapped(machine: Machine) -> Iterator[Finding]:
    """One finding for all of them: systemd and kubelet may have made many."""
    found = list(_forbidden(machine, machine.top)) if machine.top else []
    if not found or not (machine.snap.devices or (machine.snap.new_slots and machine.zswap_on)):
        return
    if machine.snap.new_slots:
        # All RAM limits nothing, but unlike "max" it is a limit, which allows zswap.
        file, value = "memory.zswap.max", str(machine.snap.total)
    else:
        file, value = "memory.swap.max", "max"
    names = ", ".join(printable(group) for group in found[:MOST]) + (", ..." if len(found) > MOST else "")
    files = [f"{machine.top}{printable(group.rstrip('/'))}/{file}" for group in found[:MOST]]
    commands = [f"echo {value} | sudo tee {shlex.quote(name)}" for name in files]
    yield Finding(
        "group-not-swapped",
        f"memory.swap.max is 0 for {len(found)} group(s): {names}; they are not swapped, nor in zswap",
        commands,
    )


CHECKS: tuple[Check, ...] = (not_swapped,)
