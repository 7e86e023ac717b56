# SPDX-License-Identifier: GPL-2.0
"""vswapctl why"""

import argparse

from vswapctl import cgroups, groupinfo, process, snapshot
from vswapctl.errors import OK
from vswapctl.kernel import Kernel
from vswapctl.process import Entries, Process
from vswapctl.reasons import UNKNOWABLE, reasons
from vswapctl.units import pages, printable, size


def _sizes(found: Process) -> list[str]:
    lines = [f"process {found.pid} ({printable(found.name)})"]
    if found.kernel_thread:
        return [*lines, "  a kernel thread, or a process that is ending: it has no memory that could be swapped"]
    lines += [
        f"  {'in RAM':<28} {size(found.rss):>10}",
        f"  {'swapped out, private':<28} {size(found.swapped):>10}",
    ]
    if found.shared_swapped is None:
        lines.append(f"  {'with shared memory':<28} needs root, or its owner")
    else:
        lines.append(f"  {'with shared memory':<28} {size(found.shared_swapped):>10}")
        lines.append(f"  {'  its share':<28} {size(found.proportional):>10}")
    return lines


def _tables(found: Entries | None, virtual: bool) -> list[str]:
    if found is None:
        return [f"  {'page tables':<28} needs root, or its owner"]
    lines = [f"  {'swap entries in page tables':<28} {pages(found.swapped):>10}"]
    if not found.complete:
        lines.append("    there is more address space than was looked at")
    if found.types is None:
        lines.append("    of which swap devices: needs root")
    for kind, count in sorted((found.types or {}).items()):
        what = f"of swap type {kind}" if kind < process.FIRST_SPECIAL else "not swap: moved, or marked"
        lines.append(f"    {what:<26} {pages(count):>10}")
    if found.types and virtual:
        lines.append("    virtual slots have a type of their own, made when booting: normally 0")
    return lines


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Print what is known, what follows, and what cannot be known."""
    found = process.read(kernel, args.pid)
    top = cgroups.mount_point(kernel)
    snap = snapshot.take(kernel, debug=True, cgroups=top)
    lines = _sizes(found)
    if not found.kernel_thread:
        lines += _tables(
            process.entries(kernel, args.pid) if found.swapped else Entries(0, {}, True), bool(snap.slots)
        )
    group = own = cgroups.of_process(kernel, args.pid)
    if top and own is not None:
        group = cgroups.charged(kernel, top, own)
    info = None
    if top and group is not None and cgroups.lineage(kernel, top, group):
        info = groupinfo.read(kernel, top, group)
    if info:
        lines += ["", *groupinfo.text(info)]
        if group != own:
            lines.append(f"note: it is in {printable(own or '')}, without the memory controller: this group pays")
    else:
        lines += [
            "",
            "its control group: the root, or not of cgroup v2: no counters of its own",
        ]
    lines += ["", "why, as far as counters tell"]
    lines += [f"  {text}" for text in reasons(snap, info)] or ["  nothing that they count has happened"]
    if snap.debug is None and any(name.startswith("/sys/kernel/debug") for name in kernel.denied):
        lines.append("  zswap's reasons for not taking pages (debugfs): needs root")
    lines += ["", "what cannot be known", *(f"  {text}" for text in UNKNOWABLE)]
    print("\n".join(lines))
    return OK
