# SPDX-License-Identifier: GPL-2.0
"""The options of all subcommands. Light: the code of a subcommand is imported when it runs."""

import argparse
import os
from typing import NoReturn

from vswapctl import VERSION
from vswapctl.errors import UsageError

EXIT_CODES = """\
exit codes:
  0    done; doctor: nothing found
  1    doctor: something found; otherwise: refused or failed
  2    usage: no such option, device, group or process
  3    cannot read: no permission, not mounted, not in this kernel, a Python package missing;
       setup: cannot keep what there was
  4    setup: some settings were refused, the others were made
  130  interrupted by Ctrl-C (143: by SIGTERM; 141: the reader of the output went away)
"""


def terminal_width() -> int:
    """Columns, as $COLUMNS or the terminal of standard output has it; 80 if neither says."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and 0 < int(columns[:6]):
        return int(columns[:6])
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Made for each option. Without a width argparse imports shutil, and that everything that unpacks files."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing the usage and leaving."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def positive_seconds(text: str) -> float:
    """An interval of 0.05 seconds to a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.05 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0.05 to 86400")
    return value


def positive_count(text: str) -> int:
    """A whole number of 1 or more."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:12]) and len(text) <= 12):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def build() -> Parser:
    """The whole command line."""
    parser = Parser(
        prog="vswapctl",
        description="Look at, and change, how this machine swaps: virtual swap, zswap, zram, devices.",
        epilog=EXIT_CODES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"vswapctl {VERSION}")
    parser.add_argument(
        "--root", metavar="DIR", default="/", help="read DIR/proc and DIR/sys, a copy of another machine's files"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=EXIT_CODES,
            formatter_class=Formatter,
            allow_abbrev=False,
        )

    status = command("status", "show where swapped-out pages are, what that costs and what it gains")
    status.add_argument("--json", action="store_true", help="print JSON; sizes in bytes")
    status.add_argument("--interval", type=positive_seconds, metavar="SECONDS", help="measure rates for so long")

    top = command("top", "show the same live, with the groups that swap most; q ends it")
    top.add_argument("--interval", type=positive_seconds, metavar="SECONDS", default=1.0, help="default 1")
    top.add_argument("--count", type=positive_count, metavar="N", help="end after N updates")

    cgroup = command("cgroup", "show what a control group has where, and which limits hold")
    cgroup.add_argument("path", metavar="PATH", help="below /sys/fs/cgroup, such as user.slice")
    cgroup.add_argument("--json", action="store_true", help="print JSON; sizes in bytes")

    why = command("why", "show where a process's pages are, and why some went to a device")
    why.add_argument("pid", metavar="PID", type=positive_count)

    drain = command("drain", "take a swap device away (swapoff), with progress; Ctrl-C stops it")
    drain.add_argument("device", metavar="DEVICE", help="as in /proc/swaps")
    drain.add_argument("--dry-run", action="store_true", help="only say what would be moved and if there is room")
    drain.add_argument("--force", action="store_true", help="try even if there seems to be too little room")

    mode = command("mode", "show or set which pages get virtual slots")
    mode.add_argument("mode", nargs="?", choices=("never", "auto", "always"), help="the mode to set; needs root")

    setup = command("setup", "set zswap up as /etc/vswap.conf says; --undo takes it back")
    setup.add_argument("--config", metavar="FILE", default="/etc/vswap.conf", help="default /etc/vswap.conf")
    setup.add_argument("--undo", action="store_true", help="what was changed gets its former value")
    setup.add_argument("--dry-run", action="store_true", help="only say what would be changed")

    doctor = command("doctor", "look for settings that stand in the way, with a command for each")
    doctor.add_argument("--json", action="store_true", help="print JSON")

    export = command("export", "write metrics for Prometheus")
    where = export.add_mutually_exclusive_group()
    where.add_argument("--output", metavar="FILE", help="replace FILE in one step, for a textfile collector")
    where.add_argument("--listen", metavar="ADDRESS:PORT", help="serve http://ADDRESS:PORT/metrics until Ctrl-C")
    export.add_argument("--any-address", action="store_true", help="let others than this machine connect")
    export.add_argument("--groups", type=positive_count, metavar="N", help="add the N groups that swap most")
    return parser
