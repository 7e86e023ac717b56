# SPDX-License-Identifier: GPL-2.0
"""Boot a guest for an end-to-end test, and accept no complaint of its kernel."""

import datetime
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import pytest

from tests.e2e.common import CHECKED_SLOWER, MIB, Boot, NoteOutcomes, script
from vswaplab.bench import sources
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.coverage import take
from vswaplab.guest import GuestResult, GuestSpec, boot
from vswaplab.stress import outcomes
from vswaplab.stress.outcomes import Outcome

# A test of User-Mode Linux that runs on x86-64: bytes more of memory, and how many times as long it may take.
ELSEWHERE = {
    "release": (8 * MIB, 3), "bench": (8 * MIB, 3), "coverage": (48 * MIB, 4),
    "debug": (384 * MIB, CHECKED_SLOWER),
}  # fmt: skip


CHECKS = re.compile(r'"checks": *(\d+)')  # in what swapcheck reports of each mode
_pages = [0]  # that guests of the test that is running have verified


@pytest.fixture(autouse=True)
def count_pages(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """For the option --tally."""
    _pages[0] = 0
    yield
    record_property("pages", _pages[0])


@pytest.fixture(scope="session")
def note_outcomes(pytestconfig: pytest.Config) -> NoteOutcomes:
    """Keeps what suites of others came to in the file of the option --outcomes, if it is given."""

    def note(
        suite: str, setup: str, mainline: Set[str], ours: Set[str], failed: Set[str], why: Mapping[str, str]
    ) -> None:
        if path := pytestconfig.getoption("outcomes"):
            found = Outcome(
                suite, setup, len(mainline), len(mainline & ours), len(ours - mainline),
                {name: why.get(name, "") for name in sorted(mainline - ours)},
                sources.of_lab("vswap")[:12], datetime.date.today().isoformat(),
                {name: why.get(name, "") for name in sorted(failed)},
            )  # fmt: skip
            outcomes.add(path, found)

    return note


@pytest.fixture(scope="session")
def boot_guest(built_kernel: Callable[[str, str, str], BuiltKernel], pytestconfig: pytest.Config) -> Boot:
    """boot_guest(script, kernel=, arch=, flavour=, machine=, and fields of GuestSpec) -> GuestResult.

    The guest must come to its regular end, its kernel must not complain, and the walk over all
    invariants, which ends every guest of a debug kernel with virtual swap, must find nothing.
    One CPU, with which User-Mode Linux is twice as fast; tests that race or reclaim from two say so.
    Complaints that contain one of the texts ``expected`` are what the test is about. With
    virtual=False the kernel is told not to have virtual swap. Data races in which virtual swap has no
    part are a warning in pytest's summary.
    """

    def run(
        text: str,
        *,
        kernel: str = "vswap",
        arch: str = "um",
        flavour: str = "debug",
        expected: Sequence[str] = (),
        **fields: Any,
    ) -> GuestResult:
        virtual, machine = fields.pop("virtual", True), fields.pop("machine", None)
        settings: dict[str, Any] = {"cpus": 1, "pool_percent": 80, "timeout": 400.0, "leak_pause": 0, **fields}
        built = built_kernel(kernel, arch, flavour)
        elsewhere = built.arch != arch  # by the option --on
        more, slower = ELSEWHERE[built.flavour] if elsewhere else (0, 1)
        whole = script(text, slower)
        if elsewhere:
            settings["mem_bytes"] = settings.get("mem_bytes", GuestSpec.mem_bytes) + more
            settings["timeout"] *= slower
            settings["cpus"] = max(2, settings["cpus"])
        covered = pytestconfig.getoption("coverage") if built.flavour == "coverage" else None
        spec = GuestSpec(kernel=built, script=take.wrapped(whole) if covered else whole, **settings)
        result = boot(spec, machine=machine)
        said = result.account
        if result.other_races:
            warnings.warn(f"data races elsewhere in the kernel: {result.other_races}", stacklevel=2)
        assert result.status == "ok", said
        _pages[0] += sum(int(found) for text in result.files.values() for found in CHECKS.findall(text))
        if covered:
            take.kept(result.files, covered / built.arch)
        splats = [splat for splat in result.splats if not any(text in splat for text in expected)]
        assert not splats, f"{splats}\n{said}"
        if virtual and kernel == "vswap" and built.flavour == "debug":
            assert result.verify_violations == 0, said
        assert not result.verify_violations, said
        return result

    return run
