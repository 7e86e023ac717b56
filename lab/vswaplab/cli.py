# SPDX-License-Identifier: GPL-2.0
"""The command line: a table of subcommands, and the only place that ends with an exit code."""

import argparse
import importlib
import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from vswaplab.errors import UsageError, VswapError


@dataclass(frozen=True)
class Command:
    """A subcommand; vswaplab.commands.NAME has add_arguments(parser) and main(args)."""

    name: str
    help: str

    @property
    def module(self) -> str:
        """The name of the module that implements it, imported only when it is used."""
        return f"vswaplab.commands.{self.name}"


COMMANDS = (
    Command("run", "boot a small machine and run the demonstration, or a program of yours, in it"),
    Command("test", "build what the tests need and run them"),
    Command("fetch", "get the kernel source the project is based on"),
    Command("tree", "make a kernel tree to work in; export edits from it; write a patch series"),
    Command("build", "build kernels"),
    Command("bench", "measure kernels side by side"),
    Command("report", "compare two benchmark runs, render one again, or write the page of results"),
    Command("footprint", "count the lines changed in the base kernel and the lines of our own"),
    Command("codediff", "list the functions whose compiled code differs from mainline's"),
)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing the usage and leaving."""
        raise UsageError(f"{message} (see {self.prog} --help)")


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end: same clean-up as Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


def available() -> list[Command]:
    """The subcommands whose module exists."""
    return [command for command in COMMANDS if importlib.util.find_spec(command.module)]


def _top_parser(commands: Sequence[Command]) -> Parser:
    width = max((len(command.name) for command in commands), default=0)
    lines = [f"  {command.name:<{width}}  {command.help}" for command in commands]
    parser = Parser(
        prog="vswap",
        description="A virtual swap space for Linux, and the lab to build, boot and test it.",
        epilog="commands:\n" + "\n".join(lines) + "\n\n'vswap COMMAND --help' says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print every command that is run")
    parser.add_argument("command", metavar="COMMAND", help="one of the list below")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its own options")
    return parser


def run(argv: Sequence[str]) -> int:
    """Run one subcommand; returns its exit code. Raises VswapError and KeyboardInterrupt."""
    commands = available()
    options = _top_parser(commands).parse_args(argv)
    found = [command for command in commands if command.name == options.command]
    if not found:
        names = ", ".join(command.name for command in commands)
        raise UsageError(f"no command {options.command!r}; there are: {names}")
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING, format="%(message)s", stream=sys.stderr
    )
    module = importlib.import_module(found[0].module)
    parser = Parser(prog=f"vswap {found[0].name}", description=module.__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    module.add_arguments(parser)
    if hasattr(module, "REST"):  # what it does not know is for another program
        args, rest = parser.parse_known_args(options.arguments)
        setattr(args, module.REST, rest)
    else:
        args = parser.parse_args(options.arguments)
    code: int = module.main(args)
    sys.stdout.flush()
    return code


def main(argv: Sequence[str]) -> int:
    """Run the command line and turn every failure into one line on stderr and a code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so a shell starts what is in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run(argv)
    except VswapError as error:
        print(f"vswap: {error}", file=sys.stderr)
        return error.exit_code
    except Terminated as error:
        print("vswap: terminated", file=sys.stderr)
        return 128 + error.number
    except KeyboardInterrupt:
        print("vswap: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output went away (for example "| head"); say nothing more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"vswap: {error}", file=sys.stderr)
        return 1


def entry() -> NoReturn:
    """The entry point of the installed program."""
    sys.exit(main(sys.argv[1:]))
