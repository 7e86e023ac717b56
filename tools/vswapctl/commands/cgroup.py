# SPDX-License-Identifier: GPL-2.0
"""vswapctl cgroup"""

import argparse

from vswapctl import cgroups, groupinfo
from vswapctl.errors import OK, CannotRead, UsageError
from vswapctl.kernel import Kernel


def find(kernel: Kernel, path: str) -> tuple[str, str]:
    """The mount point and the group that a path means."""
    top = cgroups.mount_point(kernel)
    if top is None:
        raise CannotRead("no cgroup v2 hierarchy with the memory controller: mount one, see cgroups(7)")
    group = cgroups.normal(top, path)
    if not kernel.exists(f"{top}{group}/cgroup.controllers"):
        raise UsageError(f"no control group {path}: name one below {kernel.path(top)}, such as user.slice")
    if group and not kernel.exists(f"{top}{group}/memory.stat"):
        raise UsageError(f"{path} has no memory controller: name a group above it")
    return top, group


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Print what the group has, and its limits."""
    top, group = find(kernel, args.path)
    info = groupinfo.read(kernel, top, group)
    if args.json:
        from vswapctl import jsontext

        print(jsontext.dumps(groupinfo.facts(info)))
    else:
        print("\n".join(groupinfo.text(info)))
    return OK
