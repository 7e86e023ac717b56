# SPDX-License-Identifier: GPL-2.0
"""The only place that ends with an exit code: every failure is one line on stderr."""

import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from vswapctl.errors import FAILED, INTERRUPTED, READER_GONE, CtlError, UsageError
from vswapctl.kernel import Kernel
from vswapctl.parser import build


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end: same clean-up as Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


def run(words: Sequence[str]) -> int:
    """Run one subcommand; returns its exit code. Raises CtlError and KeyboardInterrupt."""
    args = build().parse_args(words)
    if not os.path.isdir(args.root):
        raise UsageError(f"--root {args.root}: no such directory")
    module = importlib.import_module(f"vswapctl.commands.{args.command}")
    code: int = module.run(args, Kernel(args.root))
    sys.stdout.flush()
    return code


def main(words: Sequence[str]) -> int:
    """Run the command line and turn every failure into one line on stderr and a code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to fail
    try:
        return run(words)
    except CtlError as error:
        print(f"vswapctl: {error}", file=sys.stderr)
        return error.exit_code
    except Terminated as error:
        print("vswapctl: terminated", file=sys.stderr)
        return 128 + error.number
    except KeyboardInterrupt:
        print("vswapctl: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (for example "| head"); say nothing more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except OSError as error:
        print(f"vswapctl: {error}", file=sys.stderr)
        return FAILED
