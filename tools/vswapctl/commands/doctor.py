# SPDX-License-Identifier: GPL-2.0
"""vswapctl doctor"""

import argparse
import re

from vswapctl import doctor
from vswapctl.errors import FAILED, OK
from vswapctl.kernel import Kernel
from vswapctl.process import hidden

PROCESS = re.compile(r"/proc/\d+/")


def notes(machine: doctor.Machine) -> list[str]:
    """What was not, or could not be, looked at."""
    found = []
    if not machine.virtual:
        off = machine.snap.off_at_boot
        why = "virtual swap is off (vswap.max_gb=0)" if off else "this kernel has no virtual swap (CONFIG_VSWAP)"
        found.append(f"{why}: zswap needs a swap device")
    if not machine.virtual and not machine.snap.devices:
        found.append("there is no swap device: nothing can be swapped out, swapon(8) adds one")
    if machine.top is None:
        found.append("no cgroup v2 with the memory controller: groups were not looked at")
    # One note, not one for each process.
    denied = [name for name in machine.kernel.denied if not PROCESS.match(name)]
    if len(denied) < len(machine.kernel.denied) or hidden(machine.kernel):
        found.append("processes of others are hidden: daemons that kill were not looked for; needs root")
    found += [f"{name}: needs root" for name in denied]
    return found


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Print what was found; 1 if there is something."""
    machine = doctor.examine(kernel)
    findings = doctor.findings(machine)
    remarks = notes(machine)
    if args.json:
        from vswapctl import jsontext

        found = [finding._asdict() for finding in findings]
        print(jsontext.dumps({"findings": found, "notes": remarks}))
    else:
        for finding in findings:
            print(f"{finding.name}: {finding.text}")
            for command in finding.commands:
                print(f"    {command}")
        print(f"{len(findings) or 'nothing'} found")
        for remark in remarks:
            print(f"note: {remark}")
    return FAILED if findings else OK
