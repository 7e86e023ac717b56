# SPDX-License-Identifier: GPL-2.0
"""Swap and verify while everything around changes: trials in guests, one after the other.

Each trial has a seed, which decides the guest and what is done in it. The trials are repeated with other
seeds until the time is over. Exit codes: 0 nothing was wrong; 1 something was, and the guest's log is kept.
"""

import argparse
import re
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vswaplab import paths
from vswaplab.bench import sources
from vswaplab.build import kbuild
from vswaplab.errors import UsageError
from vswaplab.guest import GuestResult
from vswaplab.options import number
from vswaplab.progress import shown
from vswaplab.stress import campaign
from vswaplab.stress.record import Record, add, added, read
from vswaplab.stress.trial import TRIALS, Trial, by_name
from vswaplab.units import format_seconds, parse_seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap stress"."""
    parser.add_argument("--list", action="store_true", help="print the trials, and do nothing")
    parser.add_argument("--trial", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument(
        "--on", action="append", metavar="ARCH-FLAVOUR", help="um-release, x86_64-debug, ...; may be repeated"
        " (default: um-debug)",
    )  # fmt: skip
    parser.add_argument(
        "--time", default="0", metavar="TIME", help="such as 90s, 30m or 2h (default: each trial once)"
    )
    parser.add_argument("--seconds", type=number, default=60, help="of disturbance in each guest (default: 60)")
    parser.add_argument("--seed", type=number, help="of the first turn (default: one that FILE does not have)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="add what came of it to this JSON file")
    parser.add_argument(
        "--logs", type=Path, default=Path("stress-logs"),
        help="where logs go of guests that are bad or report data races",
    )  # fmt: skip


def _list() -> int:
    table = Table("trial", "what is done", "on")
    for trial in TRIALS:
        table.add_row(trial.name, trial.what, f"{', '.join(trial.architectures)}: {', '.join(trial.flavours)}")
    Console().print(table)
    return 0


def _trials(names: list[str] | None) -> list[Trial]:
    """Those that are named, or all. Raises UsageError."""
    found = []
    for name in names or [trial.name for trial in TRIALS]:
        trial = by_name(name)
        if trial is None:
            raise UsageError(f"no trial {name!r}; there are: {', '.join(trial.name for trial in TRIALS)}")
        found.append(trial)
    return found


def _keep_log(directory: Path, record: Record, result: GuestResult) -> Path:
    name = f"{re.sub('[ /]', '-', record.trial)}-{record.seed}-{record.arch}-{record.flavour}.log"
    directory.mkdir(parents=True, exist_ok=True)
    said = "\n".join([*record.problems, *result.other_races])
    paths.write_file(directory / name, f"{said}\n\n{result.output}\n\n{result.console}".encode())
    return directory / name


def main(args: argparse.Namespace) -> int:
    """Run them; a line for each guest, and the sum."""
    if args.list:
        return _list()
    trials, seconds = _trials(args.trial), parse_seconds(args.time)
    wanted = [kbuild.arch_and_flavour(name) for name in args.on or ["um-debug"]]
    if not any(trial.fits(*names) for trial in trials for names in wanted):
        raise UsageError("none of these trials is for any of these kernels: see vswap stress --list")
    if args.seconds < 1:
        raise UsageError("bad number of seconds: expected at least 1")
    before = read(args.record) if args.record and args.record.exists() else []
    seed = args.seed if args.seed is not None else 1 + max((record.seed for record in before), default=0)
    with shown() as progress:
        kernels = [kbuild.build("vswap", *names, progress=progress) for names in wanted]
    checksum = sources.of_lab("vswap")
    found: list[Record] = []
    until = time.monotonic() + seconds
    for trial, kernel, turn in campaign.turns(trials, kernels, seed, until):
        with shown() as progress:
            progress.update(f"{trial.name}, seed {turn}, {kernel.name}")
            record, result = campaign.one(trial, kernel, checksum, turn, args.seconds)
        found.append(record)
        if args.record:
            add(args.record, record)
        how = f"{record.checks:,} pages verified" if not record.problems else "; ".join(record.problems[:2])
        if result.other_races:
            how += f"; {sum(result.other_races.values())} data races elsewhere in the kernel"
        print(f"{trial.name}, seed {turn}, {kernel.name}, {format_seconds(record.seconds)}: {how}", flush=True)
        if record.problems or result.other_races:
            print(f"log: {_keep_log(args.logs, record, result)}", file=sys.stderr)
    total = added(found)
    print(f"{total.guests} guests, {total.checks:,} pages verified, {total.bad} with problems")
    return 1 if total.bad else 0
