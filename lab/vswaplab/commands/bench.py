# SPDX-License-Identifier: GPL-2.0
"""Measure kernels side by side: the same work on each, round by round, in guests of their own.

  vswap bench --list                     what there is
  vswap bench --quick --html out.html    the quick suite (make bench)
  vswap bench usemem1 --setups zswap,disk --rounds 7 --json out.json
  vswap bench redis --kernels mainline --kernel theirs=patches/   somebody else's series

A run that was interrupted goes on where it was when it is started again with the same options.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from vswaplab import paths
from vswaplab.bench import (
    against,
    check,
    display,
    engine,
    html,
    kernels,
    permutation,
    results,
    selection,
    setup,
    sources,
    state,
    suites,
)
from vswaplab.bench.case import Case, Options, Turn
from vswaplab.bench.document import document, incomplete, keeping, write_json
from vswaplab.bench.judge import judge
from vswaplab.bench.kernels import Kernel
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.plan import Plan
from vswaplab.bench.selection import Selection
from vswaplab.bench.suite import PRESSURES
from vswaplab.build import workloads
from vswaplab.errors import UsageError, VswapError
from vswaplab.guest import boot
from vswaplab.options import number
from vswaplab.progress import shown
from vswaplab.units import parse_size

PAGE_CLUSTER_MAX = 31  # the kernel's own bound
QUICK_MEM, FULL_MEM = "96M", "256M"
QUICK_CPUS, FULL_CPUS = 1, 2  # with one, rounds vary less and none takes a minute

EPILOG = f"""
--mem is the RAM a workload gets before it has to swap, and working sets are multiples of it: the
published ratio of each workload (see docs/bench/README.md). Rounds: kernels take turns; the first
round of each case (--warmup) is run and not counted.

Exit codes: 0 done, whatever the figures; 1 a round failed or was killed for lack of memory (it is
in the report); 2 usage, or something is missing. Unfinished runs are in {paths.cache_dir() / "bench"}.
"""


def _list(text: str) -> list[str]:
    words = [word for word in text.split(",") if word]
    if not words:
        raise UsageError(f"an empty list: {text!r}")
    return words


def _numbers(text: str) -> list[int]:
    return [number(word) for word in _list(text)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap bench"."""
    add = parser.add_argument
    add("suites", metavar="SUITE", nargs="*", help="default: all")
    add("--list", action="store_true", help="print the suites and set-ups, and do nothing")
    quick = f"few cases, --mem {QUICK_MEM}, --cpus {QUICK_CPUS}"
    add("--quick", action="store_true", help=quick)
    add(
        "--kernels",
        metavar="LIST",
        type=_list,
        help="of the lab: mainline, vswap, vswap-off (default: the first two)",
    )
    add("--kernel", metavar="NAME=PATH", action="append", default=[],
        help="one more: a directory of patches for the base, a kernel source tree, or an image")  # fmt: skip
    add("--setups", metavar="LIST", type=_list, help="where pages go: see --list (default: the suite's own)")
    add("--against", metavar="SETUP@KERNEL", help="compare everything with that too, such as zram@mainline")
    add("--pressure", metavar="LIST", type=_list, help="memcg, global (default: both)")
    add("--compressor", metavar="LIST", type=_list, help="lzo, lz4, zstd (default: the kernel's)")
    add("--mglru", metavar="LIST", type=_list, help="on, off (default: the kernel's)")
    clusters = ",".join(str(value) for value in selection.PAGE_CLUSTERS)
    add("--page-cluster", metavar="LIST", type=_numbers,
        help=f"vm.page-cluster: readahead of 2^N pages (default: {clusters}; 0 is the headline)")  # fmt: skip
    add("--rounds", metavar="N", type=number,
        help="counted rounds (default: at least 5, and as many as verdicts on everything take)")  # fmt: skip
    add("--warmup", metavar="N", type=number, default=1, help="rounds before them, at least 1 (default: 1)")
    add("--arch", choices=("um", "x86_64"), default="um", help="User-Mode Linux or QEMU (default: um)")
    add("--mem", metavar="SIZE", help=f"RAM for the workload (default: {FULL_MEM})")
    add("--cpus", metavar="N", type=number, help=f"processors (default: {FULL_CPUS})")
    add("--jobs", "-j", metavar="N", type=number, default=0, help="compilers at a time, if kernels are built")
    add("--json", metavar="FILE", help="write the results there")
    add("--html", metavar="FILE", help="write the report there")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with an unfinished run; fail if there is none")
    again.add_argument("--fresh", action="store_true", help="forget an unfinished run")
    parser.epilog = EPILOG


def _switches(words: Sequence[str] | None) -> list[bool] | None:
    for word in words or ():
        if word not in ("on", "off"):
            raise UsageError(f"--mglru: not {word!r} but on, off or on,off")
    return [word == "on" for word in words] if words else None


def _page_clusters(found: Sequence[int] | None) -> Sequence[int]:
    if found is None:
        return selection.PAGE_CLUSTERS
    if any(not 0 <= value <= PAGE_CLUSTER_MAX for value in found):
        raise UsageError(f"--page-cluster: a value is 0 to {PAGE_CLUSTER_MAX}")
    return found


def _selection(args: argparse.Namespace) -> Selection:
    for word in args.pressure or ():
        if word not in PRESSURES:
            raise UsageError(f"no pressure {word!r}; there are: {', '.join(PRESSURES)}")
    compressors = args.compressor or ([against.COMPRESSOR] if args.against else None)
    return Selection(
        args.suites, args.setups, args.pressure, compressors, _switches(args.mglru),
        _page_clusters(args.page_cluster), args.quick,
    )  # fmt: skip


def _options(args: argparse.Namespace) -> Options:
    rounds = args.rounds if args.rounds is not None else permutation.ENOUGH
    mem = args.mem or (QUICK_MEM if args.quick else FULL_MEM)
    cpus = args.cpus if args.cpus is not None else (QUICK_CPUS if args.quick else FULL_CPUS)
    options = Options(args.arch, parse_size(mem), cpus, rounds, args.warmup, args.against or "")
    check.limits(options)
    return options


def check_target(name: str | None) -> None:
    """Raise UsageError for a file that cannot be written."""
    if name is not None and (Path(name).is_dir() or not os.access(Path(name).absolute().parent, os.W_OK)):
        raise UsageError(f"cannot write to {name}")


def _print_list() -> None:
    console = Console(width=None if sys.stdout.isatty() else 140)
    drawn = Table("suite", "what it does", "memory", "usual set-ups", "pressure", box=None)
    for suite in suites.SUITES:
        usual = ", ".join(suite.setups or setup.USUAL)
        drawn.add_row(suite.name, suite.summary, f"{suite.times:.2f} x", usual, ", ".join(suite.pressures))
    console.print(drawn)
    drawn = Table("set-up", "where swapped pages go", box=None)
    for found in setup.SETUPS:
        drawn.add_row(found.name, found.summary)
    console.print()
    console.print(drawn)


def _kernels(
    choices: Sequence[kernels.Choice], arch: str, flavours: Sequence[str], jobs: int
) -> dict[tuple[str, str], Kernel]:
    """Build and try every kernel; those that somebody gave first, because they may be no good."""
    found = {}
    for choice in sorted(choices, key=lambda choice: choice.kind == "lab"):
        known = sources.of_lab(choice.name) if choice.kind == "lab" else ""  # before building: that is built
        for flavour in flavours:
            with shown() as progress:
                built = kernels.get(choice, arch, flavour, jobs=jobs, progress=progress)
                progress.update(f"trying {choice.name}")
                found[choice.name, flavour] = replace(check.trial(built, boot), sources=known)
    return found


def _comparisons(cases: Sequence[Case], names: Sequence[str], options: Options) -> int:
    """How many the report will have."""
    pairs = against.pairs(cases, against.parse(options.against, names)) if options.against else []
    return check.comparisons(cases, len(names), [case for case, _ in pairs])


def _plan(args: argparse.Namespace) -> Plan:
    """Everything that can be wrong is found here."""
    for target in (args.json, args.html):
        check_target(target)
    options = _options(args)
    cases = selection.cases(_selection(args), args.arch)
    choices = kernels.choose(args.kernels if args.kernels is not None else ["mainline", "vswap"], args.kernel)
    names = [choice.name for choice in choices]
    if options.against:
        cases = against.with_reference(cases, against.parse(options.against, names))
    if args.rounds is None:
        options = replace(options, rounds=permutation.rounds_needed(_comparisons(cases, names, options)))
    wanted = list(dict.fromkeys(case.suite for case in cases))
    check.programs(wanted)
    flavours = list(dict.fromkeys(suites.find(name).flavour for name in wanted))
    programs = workloads.build()
    built = _kernels(choices, args.arch, flavours, args.jobs)
    check.settings(cases, list(built.values()))
    for name in wanted:
        with shown() as progress:
            progress.update(f"preparing {name}")
            suites.find(name).prepare()
    made = Plan(cases, names, built, options, programs)
    check.room(made.specs())
    return made


def _against(
    made: Plan, complete: Sequence[Case], rounds: Mapping[Turn, Outcome]
) -> dict[str, Any] | None:
    """The comparison with the reference, if one was asked for; without verdicts."""
    if not made.options.against:
        return None
    reference = against.parse(made.options.against, made.names)
    return {
        "base": str(reference), "order": [str(reference), against.MEASURED],
        "results": against.rows(complete, rounds, made.names, made.options.warmup, reference),
        "left_out": against.left_out(made.cases, reference),
    }  # fmt: skip


def _target(name: str, content: Mapping[str, Any], is_incomplete: Callable[[bytes], bool]) -> Path:
    """Where to write what was to go to the file ``name``; says so if that is another."""
    target = keeping(Path(name), content, is_incomplete)
    if target != Path(name):
        print(f"vswap: {name} is complete and stays; this run is not: {target}", file=sys.stderr)
    return target


def write_report(args: argparse.Namespace, made: Plan, kept: state.State) -> dict[str, Any]:
    """Write the report of all cases whose rounds are finished, and return it. Nothing if there is none.

    If cases are missing, a file that is there and complete is left alone: see document.keeping().
    """
    turns = made.turns()
    missing = {turn.case for turn in turns if turn.key not in kept.finished}
    complete = [case for case in made.cases if case not in missing]
    rounds = state.outcomes(kept.finished, iter(turns))
    rows = results.rows(complete, rounds, made.names, made.options.warmup)
    if not rows:
        return {}
    beside = _against(made, complete, rounds)
    judge(rows + (beside["results"] if beside else []))
    content = document(made, rows, sys.argv[1:], cases_left=len(missing), against=beside)
    if args.json:
        write_json(content, _target(args.json, content, incomplete))
    if args.html:
        target = _target(args.html, content, html.incomplete)
        paths.write_file(target, html.page(content).encode())
    return content


def _write_incomplete(args: argparse.Namespace, made: Plan, kept: state.State, why: str) -> None:
    """After a run that did not get to its end: the report of what is complete, if anything is."""
    if write_report(args, made, kept):
        print(f"vswap: {why}; the report has the cases that are complete", file=sys.stderr)


def main(args: argparse.Namespace) -> int:
    """Run the benchmarks, print the table, write JSON and HTML."""
    if args.list:
        _print_list()
        return 0
    made = _plan(args)
    compared = _comparisons(made.cases, made.names, made.options)
    for warning in check.warnings(made.options.cpus, compared, made.options.rounds):
        print(f"vswap: {warning}", file=sys.stderr)
    with state.opened(made.identity(), fresh=args.fresh) as kept:
        if args.resume and not kept.finished:
            raise UsageError("there is no unfinished run with these options")
        if kept.finished:
            print(
                f"vswap: going on after {len(kept.finished)} finished rounds (--fresh: start again)",
                file=sys.stderr,
            )
        try:
            with display.Display(warmup=made.options.warmup) as shown_rounds:
                engine.run(made, kept, boot, shown_rounds)
        except (KeyboardInterrupt, VswapError, OSError) as error:
            why = "interrupted" if isinstance(error, KeyboardInterrupt) else "not finished"
            _write_incomplete(args, made, kept, why)
            raise
        content = write_report(args, made, kept)
        display.show_report(content)
        kept.forget()
    return int(any(row["status"] != "ok" for row in content["results"]))
