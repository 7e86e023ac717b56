# SPDX-License-Identifier: GPL-2.0
"""The only place that ends with an exit code: every failure is one line on stderr."""

import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TextIO

from vswapctl.errors import FAILED, INTERRUPTED, READER_GONE, CtlError, UsageError
from vswapctl.kernel import Kernel
from vswapctl.parser import build
from vswapctl.units import printable

# What print() fails with: other errors without a file's name are no matter of the output.
OF_OUTPUT = (errno.EBADF, errno.EIO, errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end: same clean-up as Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


def open_again() -> None:
    """Give standard streams that whoever started us has closed (">&-") a descriptor again.

    No other file gets their numbers then. Writing to such an output fails; errors go nowhere.
    """
    for number, (name, flags) in enumerate(
        (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            os.dup2(descriptor, number)
            if descriptor != number:
                os.close(descriptor)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))


def discard(stream: TextIO) -> None:
    """What is still to be written cannot be: nothing more shall be said about that."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> None:
    """One line on stderr. If it has gone, as a terminal that has hung up, the exit code says enough."""
    try:
        print(f"vswapctl: {text}", file=sys.stderr)
    except OSError:
        discard(sys.stderr)


def write_rest() -> None:
    """Of the output, before Python does at its end and takes a failure for one of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout)


def run(words: Sequence[str]) -> int:
    """Run one subcommand; returns its exit code. Raises CtlError and KeyboardInterrupt."""
    try:
        args = build().parse_args(words)
    except SystemExit:  # --help and --version have printed what they say
        sys.stdout.flush()
        raise
    if not os.path.isdir(args.root):
        raise UsageError(f"--root {args.root}: no such directory")
    module = importlib.import_module(f"vswapctl.commands.{args.command}")
    code: int = module.run(args, Kernel(args.root))
    sys.stdout.flush()
    return code


def main(words: Sequence[str]) -> int:
    """Run the command line and turn every failure into one line on stderr and a code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup(1) has it: go on without a terminal
            signal.signal(number, _terminate)
    open_again()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to fail
    try:
        return run(words)
    except CtlError as error:
        complain(str(error))
        return error.exit_code
    except Terminated as error:
        write_rest()
        complain("terminated")
        return 128 + error.number
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (for example "| head"); say nothing more.
        discard(sys.stdout)
        return READER_GONE
    except OSError as error:
        what = "" if error.filename is None else f"{printable(str(error.filename))}: "
        if not what and error.errno in OF_OUTPUT:
            what = "cannot write to standard output: "
            discard(sys.stdout)
        complain(f"{what}{error.strerror or error}")
        return FAILED
