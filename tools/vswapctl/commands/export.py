# SPDX-License-Identifier: GPL-2.0
"""vswapctl export"""

import argparse
import os
import stat
import sys
import tempfile
from contextlib import suppress

from vswapctl import cgroups, metrics, snapshot
from vswapctl.errors import OK, CtlError, UsageError
from vswapctl.kernel import Kernel
from vswapctl.units import to_terminal


def produce(kernel: Kernel, count: int | None) -> str:
    """The metrics of this moment, with the largest groups if there are to be any."""
    top = cgroups.mount_point(kernel)
    groups = cgroups.usages(kernel, top)[:count] if top and count else []
    return metrics.render(metrics.collect(snapshot.take(kernel, cgroups=top, contiguous=True), groups))


def replace(path: str, text: str) -> None:
    """Write a file that is there whole or not at all; readable by everybody, as collectors need it.

    A link stays one, and what is no regular file, such as a device or a FIFO, is written to as it is.
    """
    try:
        if not _is_file(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
    except OSError as error:
        raise CtlError(f"cannot write {path}: {error.strerror}; name another file") from None
    path = os.path.realpath(path)
    directory = os.path.dirname(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=directory, prefix=".vswapctl-")
    except OSError as error:
        raise CtlError(f"cannot write to {directory}: {error.strerror}; name another file") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        raise CtlError(f"cannot write {path}: {error.strerror}; name another file") from None
    finally:
        with suppress(FileNotFoundError):  # it has got its name
            os.unlink(name)


def _is_file(path: str) -> bool:
    """Whether a path is a regular file, or one can be made. The kernel says which links are not to be followed."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


def serve(kernel: Kernel, args: argparse.Namespace) -> None:
    """Until a signal."""
    from vswapctl.server import Server, parse

    address = parse(args.listen, args.any_address)
    with Server(address, lambda: produce(kernel, args.groups)) as server:
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        print(f"http://{host}:{server.server_port}/metrics; Ctrl-C ends it", file=sys.stderr, flush=True)
        server.serve_forever()


def run(args: argparse.Namespace, kernel: Kernel) -> int:
    """Print, write or serve."""
    if args.any_address and args.listen is None:
        raise UsageError("--any-address goes with --listen ADDRESS:PORT")
    if args.output == "":
        raise UsageError("--output needs the name of a file")
    if args.listen is not None:
        serve(kernel, args)
    elif args.output is not None:
        replace(args.output, produce(kernel, args.groups))
    else:
        text = produce(kernel, args.groups)
        print(to_terminal(text) if sys.stdout.isatty() else text, end="")
    return OK
