# SPDX-License-Identifier: GPL-2.0
"""vswapctl mode"""

import argparse

from vswapctl.errors import OK, CannotRead, CtlError
from vswapctl.kernel import Kernel
from vswapctl.snapshot import VSWAP, off_at_boot


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Show the mode, or set it and show what the kernel made of it."""
    name = f"{VSWAP}/mode"
    if off_at_boot(kernel):
        raise CannotRead("virtual swap is off by the boot parameter vswap.max_gb=0: boot without it")
    if not kernel.exists(VSWAP):
        raise CannotRead(f"no {kernel.path(VSWAP)}: boot a kernel with CONFIG_VSWAP=y")
    if args.mode:
        try:
            kernel.write(name, args.mode)
        except PermissionError:
            raise CannotRead(f"setting the mode needs root: sudo vswapctl mode {args.mode}") from None
        except OSError as error:
            raise CtlError(f"cannot set the mode: {error.strerror}; see {kernel.path(name)}") from None
    mode = kernel.word(name)
    if mode is None:
        raise CannotRead(f"cannot read {kernel.path(name)}: look at its permissions")
    print(mode)
    if args.mode:
        print(f"until the next boot; the boot parameter vswap={mode} makes it last")
    return OK
