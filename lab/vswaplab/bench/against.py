# SPDX-License-Identifier: GPL-2.0
"""--against SETUP@KERNEL: every set-up on every kernel compared with one, such as zram on mainline.

The reference runs in the same rounds as what is compared with it. Both have the same compressor, and
the same limit on compressed memory. A comparison with zram is a matter of the whole machine: memory
that zram takes is charged to no group, and a group with a limit gets it as a present.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from vswaplab.bench import setup, suites
from vswaplab.bench.case import Case, Turn
from vswaplab.bench.judge import compared
from vswaplab.bench.outcome import Outcome
from vswaplab.bench.results import CaseResults, rank
from vswaplab.bench.row import Row
from vswaplab.bench.suite import Metric
from vswaplab.errors import UsageError

COMPRESSOR = "lzo"  # unless told otherwise: zswap and zram have different ones by default
MEASURED = "measured"  # the name of the column beside the reference's


@dataclass(frozen=True)
class Reference:
    """What everything is compared with."""

    setup: str
    kernel: str

    def __str__(self) -> str:
        return f"{self.setup}@{self.kernel}"


def parse(text: str, kernels: Sequence[str]) -> Reference:
    """The reference for "SETUP@KERNEL". Raises UsageError."""
    where, at, kernel = text.partition("@")
    if not at:
        raise UsageError(f"--against {text}: expected SETUP@KERNEL, such as zram@mainline")
    if kernel not in kernels:
        raise UsageError(f"--against {text}: {kernel!r} is not measured; what is: {', '.join(kernels)}")
    return Reference(setup.find(where).name, kernel)


def _partner(case: Case, reference: Reference) -> Case:
    return replace(case, setup=reference.setup)


def _unfair(case: Case, reference: Reference) -> str | None:
    """Why a case cannot be compared with the reference; None if it can."""
    if reference.setup in suites.find(case.suite).without:
        return f"makes no sense in the set-up {reference.setup}"
    if case.pressure == "memcg" and setup.find(case.setup).charged != setup.find(reference.setup).charged:
        return "zram's memory is not charged to the group that has the limit"
    if setup.find(case.setup).small_pool != setup.find(reference.setup).small_pool:
        return "the limits on compressed memory differ"
    return None


def pairs(cases: Sequence[Case], reference: Reference) -> list[tuple[Case, Case]]:
    """(case, the reference's case) for all that can be compared, another set-up than the reference's each."""
    others = [case for case in cases if case.setup != reference.setup and not _unfair(case, reference)]
    return [(case, _partner(case, reference)) for case in others]


def left_out(cases: Sequence[Case], reference: Reference) -> list[str]:
    """What is not compared, and why."""
    reasons = [(case, _unfair(case, reference)) for case in cases if case.setup != reference.setup]
    return [f"{case.title}: {reason}" for case, reason in reasons if reason]


def with_reference(cases: Sequence[Case], reference: Reference) -> list[Case]:
    """The cases, and those of the reference that they are compared with. Raises UsageError if none can be."""
    partners = dict(pairs(cases, reference))
    if not partners:
        reasons = list(dict.fromkeys(filter(None, (_unfair(case, reference) for case in cases))))
        why = reasons[0] if reasons else "there is no other set-up"
        raise UsageError(f"--against {reference}: nothing can be compared: {why}")
    every = [found for case in cases for found in (case, partners.get(case)) if found]
    return list(dict.fromkeys(every))


def rows(
    cases: Sequence[Case], rounds: Mapping[Turn, Outcome], kernels: Sequence[str], warmup: int,
    reference: Reference,
) -> list[Row]:  # fmt: skip
    """A row for every metric of every set-up and kernel; judge() has to add the verdicts."""
    found = []
    for case, partner in pairs(cases, reference):
        if partner not in cases:
            continue  # not finished
        measured, base = (CaseResults(one, rounds, kernels, warmup) for one in (case, partner))
        found += [
            _row(measured, kernel, base, reference, metric)
            for kernel in kernels
            for metric in suites.find(case.suite).metrics
        ]
    return found


def _row(measured: CaseResults, kernel: str, base: CaseResults, reference: Reference, metric: Metric) -> Row:
    case, name = measured.case, str(reference)
    entries = {
        name: base.entry(reference.kernel, metric.name),
        MEASURED: measured.entry(kernel, metric.name),
    }
    return Row(
        case.suite, f"{case.setup_label} on {kernel}", case.pressure,
        metric.name, metric.unit, metric.lower_is_better,
        kernels=entries,
        ratios={
            MEASURED: compared(measured.values(kernel, metric.name), base.values(reference.kernel, metric.name)),
        },
        base=name, other=MEASURED, deterministic=suites.find(case.suite).deterministic,
        status=max((entry.status for entry in entries.values()), key=rank),
        published=(), options=asdict(case), vmstat={},
    )  # fmt: skip
