# SPDX-License-Identifier: GPL-2.0
"""The trials of "vswap stress", a few seconds each; all of them, and on x86-64, take minutes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from vswaplab.build.kbuild import BuiltKernel
from vswaplab.coverage import take
from vswaplab.guest import GuestResult, GuestSpec, boot
from vswaplab.stress import campaign, tally
from vswaplab.stress.record import Record
from vswaplab.stress.trial import TRIALS, by_name

# What a trial has done when it is over, however short: otherwise it was none.
DONE = {
    "changes": {"mode", "compressor", "zswap enabled", "max_pool_percent"},
    "reading": {"memory.reclaim", "process moved"},
    "groups": {"memory.high", "memory.reclaim", "process moved"},
    "swapoff": {"swapoff", "swapon"},
    "deaths": {"killed", "OOM kills"},
    "folios": {"folio order"},
    "hot-plug": {"cpu offline", "cpu online", "memory offline"},
    "allocations fail": {"failslab faults", "fail_page_alloc faults"},
    "I/O errors": {"fail_make_request faults"},
    "bad inputs": {"files, refused", "files, taken", "swap headers, refused", "swap headers, taken"},
    "everything": {"mode", "swapoff", "killed", "memory.high"},
}
# Of these, what is worth a figure beside a run's pages
COUNTED = {
    "failslab faults", "fail_page_alloc faults", "fail_make_request faults", "killed", "OOM kills",
    "files, refused", "files, taken", "swap headers, refused", "swap headers, taken", "swapoff",
}  # fmt: skip
SHORT = ("everything",)  # the others take minutes on a busy host


Run = Callable[[str, BuiltKernel, float], None]


@pytest.fixture
def run(pytestconfig: pytest.Config, record_property: Callable[[str, object], None]) -> Run:
    """run(trial, kernel, seconds): one guest, as judged() wants it; what its kernel counted is kept.

    For the option --tally: the pages that were verified, and how often what was done.
    """

    def covered(spec: GuestSpec) -> GuestResult:
        result = boot(replace(spec, script=take.wrapped(spec.script)))
        take.kept(result.files, pytestconfig.getoption("coverage") / spec.kernel.arch)
        return result

    def judge(name: str, kernel: BuiltKernel, seconds: float) -> None:
        record = judged(name, kernel, seconds, covered if kernel.flavour == "coverage" else boot)
        record_property("pages", record.checks)
        for what, count in record.done.items():
            if what in COUNTED:
                record_property(tally.FIGURE + what, count)

    return judge


def judged(name: str, kernel: BuiltKernel, seconds: float, how: campaign.Boot) -> Record:
    """The record. It must have verified pages, done what it is for, and found nothing."""
    trial = by_name(name)
    assert trial is not None
    record, result = campaign.one(trial, kernel, "", 1, seconds, boot=how)
    assert record.problems == (), f"{record}\n{result.account}"
    assert record.checks > 10_000
    assert DONE.get(name, set()) <= {name for name, count in record.done.items() if count}, record.done
    return record


@pytest.mark.kernel("vswap", "um", "debug")
@pytest.mark.parametrize("name", SHORT)
def test_for_some_seconds(built_kernel: Callable[[str, str, str], BuiltKernel], name: str, run: Run) -> None:
    run(name, built_kernel("vswap", "um", "debug"), 12)


@pytest.mark.long
@pytest.mark.parametrize(
    ("arch", "flavour", "name"),
    [
        pytest.param(arch, flavour, trial.name, marks=pytest.mark.kernel("vswap", arch, flavour))
        for arch, flavour in (("um", "debug"), ("x86_64", "release"), ("x86_64", "debug"))
        for trial in TRIALS
        if trial.fits(arch, flavour)
    ],
)
def test_for_a_minute(
    built_kernel: Callable[[str, str, str], BuiltKernel], arch: str, flavour: str, name: str, run: Run
) -> None:
    run(name, built_kernel("vswap", arch, flavour), 60)
