# SPDX-License-Identifier: GPL-2.0
"""The kernel's own tests of zram, unmodified: what passes on mainline passes with virtual swap.

zram01.sh fills a file system on a zram device with zeroes, zram02.sh swaps on one. zram is built in, with one
device from boot: the scripts add another through /sys/class/zram-control, and remove it.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import thirdparty
from tests.e2e.common import MIB, Boot, NoteOutcomes
from tests.e2e.thirdparty import Outcome
from vswaplab.tree import buildtree

PROGRAMS = ("zram01.sh", "zram02.sh")  # zram.sh calls the two
SKIPPED = 4

# They write beside themselves. The overlay in memory takes it.
RUN = """
cd {dir}
for program in {programs}; do
  timeout -k 5 120 ./$program > $RESULTS/$program 2>&1
  echo "exit $?" >> $RESULTS/$program
done
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bc") is None, reason="needs Debian's package bc"),
]


def outcome_of(text: str) -> str:
    """What a script came to. It says [PASS] at its end whatever failed before, but "FAIL" there."""
    code = int(text.rpartition("exit ")[2])
    if code == SKIPPED:
        return "skip"
    return "ok" if code == 0 and "[PASS]" in text and "FAIL" not in text else "not ok"


@pytest.fixture(scope="module")
def programs() -> Path:
    """The directory with the scripts."""
    return buildtree.source_tree("mainline").path / "tools/testing/selftests/zram"


@pytest.fixture(scope="module")
def outcome(boot_guest: Boot, programs: Path) -> Callable[..., Outcome]:
    """outcome(kernel, mode, swap, names): the results of one guest; a script is its only test."""

    def run(kernel: str, mode: str, swap: str, names: tuple[str, ...] = PROGRAMS) -> Outcome:
        # Of the flavours that User-Mode Linux has, this one has the file system that zram01.sh makes: ext4.
        result = boot_guest(
            RUN.format(programs=" ".join(names), dir=programs),
            kernel=kernel, flavour="full", mode=mode, swap=swap, mem_bytes=256 * MIB, cpus=2,
        )  # fmt: skip
        print(kernel, mode, swap, {name: result.files[name] for name in names})  # noqa: T201 (shown on failure)
        return {name: {name: outcome_of(result.files[name])} for name in names}

    return run


@pytest.fixture(scope="module")
def mainline(outcome: Callable[..., Outcome]) -> Outcome:
    """What mainline comes to, with a swap file."""
    return outcome("mainline", "auto", "file:512M")


@pytest.mark.kernel("mainline", "um", "full")
def test_mainline(mainline: Outcome) -> None:
    assert mainline == {name: {name: "ok"} for name in PROGRAMS}


@pytest.mark.kernel("mainline", "um", "full")
@pytest.mark.kernel("vswap", "um", "full")
@thirdparty.IN_EACH_SETUP
def test_what_passes_on_mainline_passes(
    outcome: Callable[..., Outcome], mainline: Outcome, note_outcomes: NoteOutcomes, mode: str, swap: str
) -> None:
    thirdparty.compare("selftests/zram", outcome, mainline, note_outcomes, mode, swap, {})
