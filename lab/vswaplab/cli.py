# SPDX-License-Identifier: GPL-2.0
"""The command line: a table of subcommands, and the only place that ends with an exit code."""

import argparse
import importlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

from vswaplab.errors import UsageError, VswapError

COMMANDS = {
    "run": "boot a small machine and run the demonstration, or a program of yours, in it",
    "demo": "run the same work on mainline, zram and virtual swap, and write a page that replays it",
    "test": "build what the tests need and run them",
    "fetch": "get the kernel source the project is based on",
    "tree": "make a kernel tree to work in; export commits from it",
    "series": "write the patch series for a mailing list",
    "build": "build kernels",
    "stress": "swap and verify while everything around changes",
    "coverage": "say which lines of ours the tests have run",
    "bench": "measure kernels side by side",
    "report": "compare two benchmark runs, render one again, or write the pages of results",
    "footprint": "count the lines changed in the base kernel and the lines of our own",
    "profile": "say which functions of the kernel a page's instructions go to",
    "codediff": "list the functions whose compiled code differs from mainline's",
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing the usage and leaving."""
        raise UsageError(f"{message} (see {self.prog} --help)")


class CommandParser(Parser):
    """The parser of a subcommand; vswaplab.commands.NAME has add_arguments(parser) and main(args).

    The module is imported when the command is used, so that none waits for what others need.
    """

    def __init__(self, *, command: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._command = command

    # The signature is argparse's own, with its overloads for other kinds of namespaces left out.
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Declare the command's options, then parse them."""
        module = importlib.import_module(f"vswaplab.commands.{self._command}")
        self.description = module.__doc__
        self.set_defaults(run_command=module.main)
        module.add_arguments(self)
        found, rest = super().parse_known_args(args, namespace)
        if hasattr(module, "REST"):  # what it does not know is for another program
            setattr(found, module.REST, rest)
        elif rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, []


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end: same clean-up as Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


def _parser() -> Parser:
    parser = Parser(
        prog="vswap",
        description="A virtual swap space for Linux, and the lab to build, boot and test it.",
        epilog="'vswap COMMAND --help' says more.",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print commands that are run, and tracebacks")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for name, what in COMMANDS.items():
        commands.add_parser(
            name, command=name, help=what, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the subcommand; returns its exit code. Raises VswapError and KeyboardInterrupt."""
    level = logging.INFO if options.verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stderr)
    code: int = options.run_command(options)
    sys.stdout.flush()
    return code


def main(argv: Sequence[str]) -> int:
    """Run the command line and turn every failure into one line on stderr and a code.

    With --verbose the traceback of what failed goes before that line.
    """
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup means it
        signal.signal(signal.SIGHUP, _terminate)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so a shell starts what is in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    verbose = False
    try:
        options = _parser().parse_args(argv)
        verbose = options.verbose
        return run(options)
    except (VswapError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output went away (for example "| head"); say nothing more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        if verbose:
            traceback.print_exc()
        print(f"vswap: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, VswapError) else 1
    except Terminated as error:
        print("vswap: terminated", file=sys.stderr)
        return 128 + error.number
    except KeyboardInterrupt:
        print("vswap: interrupted", file=sys.stderr)
        return 130


def entry() -> NoReturn:
    """The entry point of the installed program."""
    sys.exit(main(sys.argv[1:]))
