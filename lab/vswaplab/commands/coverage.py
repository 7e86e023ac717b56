# SPDX-License-Identifier: GPL-2.0
"""Say which lines of ours the tests have run.

./vswap test --coverage DIR tests/e2e    runs tests on kernels that count, and keeps the counts in DIR
./vswap coverage DIR                     adds them up: mm/vswap, and the lines that the patches add elsewhere
"""

import argparse
import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from vswaplab import paths
from vswaplab.bench import sources
from vswaplab.build import config, kbuild
from vswaplab.coverage import lines
from vswaplab.coverage.lines import Counts, Covered
from vswaplab.errors import UsageError
from vswaplab.progress import Progress, shown
from vswaplab.series import stored
from vswaplab.source import linux


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap coverage"."""
    parser.add_argument("dir", metavar="DIR", type=Path, help="what the tests have left")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result, and what never ran")


def _guests(directory: Path) -> dict[str, list[Path]]:
    """What guests have left, by architecture. Raises UsageError if there is nothing."""
    found = {arch: sorted((directory / arch).glob("guest-*")) for arch in config.ARCHES}
    if not any(found.values()):
        raise UsageError(f"{directory} has no coverage: run ./vswap test --coverage {directory} tests/e2e")
    return {arch: guests for arch, guests in found.items() if guests}


def _counts(found: Mapping[str, Sequence[Path]], progress: Progress) -> Counts:
    """The sum over all architectures."""
    parts = []
    for arch, guests in found.items():
        kernel = kbuild.build("vswap", arch, "coverage", progress=progress)
        progress.update(f"adding up {len(guests)} guests, {arch}")
        with paths.scratch_dir() as scratch:
            total = lines.merged(guests, kernel, scratch)
            parts.append(lines.counts(total, kernel.dir.parent))
    return lines.together(parts)


def _percent(found: list[Covered]) -> float:
    return Covered("", sum(one.lines for one in found), tuple(n for one in found for n in one.missed)).percent


def main(args: argparse.Namespace) -> int:
    """Print a table."""
    guests = _guests(args.dir)
    with shown() as progress:
        base = linux.pristine(linux.fetch(verify=False, progress=progress), progress=progress)
        found = lines.ours(_counts(guests, progress), lines.added(stored.ours(), base))
    own = [one for one in found if one.name.startswith(lines.OWN)]
    edited = [one for one in found if one not in own]
    table = Table("file", "lines", "run", "never run")
    for one in found:
        table.add_row(one.name, str(one.lines), f"{one.percent:.1f} %", one.runs)
    table.add_section()
    for text, part in (("mm/vswap/", own), ("lines that the patches add elsewhere", edited)):
        table.add_row(text, str(sum(one.lines for one in part)), f"{_percent(part):.1f} %", "", style="bold")
    Console().print(table)
    if args.json:
        content = {
            "date": datetime.date.today().isoformat(),
            "kernel": sources.of_lab("vswap")[:12],
            "guests": {arch: len(left) for arch, left in guests.items()},
            "own_percent": round(_percent(own), 2),
            "edited_percent": round(_percent(edited), 2),
            "files": {one.name: {"lines": one.lines, "missed": list(one.missed)} for one in found},
        }
        paths.write_file(args.json, f"{json.dumps(content, indent=1)}\n".encode())
    return 0
