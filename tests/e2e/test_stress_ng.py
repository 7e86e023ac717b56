# SPDX-License-Identifier: GPL-2.0
"""stress-ng, Debian's, with --verify: a stressor that passes on mainline passes with virtual swap."""

import shutil
from collections.abc import Callable, Iterable

import pytest

from tests.e2e import thirdparty
from tests.e2e.common import MIB, Boot, NoteOutcomes, nothing_is_left
from tests.e2e.thirdparty import Outcome

# Those of the classes vm and memory, and others, that allocate, map, share, move, advise or fork memory. Left
# out: numa, for which User-Mode Linux has no nodes, and oom-pipe, which stress-ng itself calls pathological.
STRESSORS = (
    "bigheap", "brk", "dev-shm", "env", "fork", "ksm", "madvise", "malloc", "memfd", "memhotplug", "memrate",
    "memthrash", "mincore", "mlock", "mlockmany", "mmap", "mmapaddr", "mmapfixed", "mmapfork", "mmaphuge",
    "mmapmany", "mprotect", "mremap", "msync", "msyncmany", "munmap", "pagemove", "pageswap", "physpage", "remap",
    "resources", "rmap", "shm", "shm-sysv", "stack", "stackmmap", "swap", "tlb-shootdown", "tmpfs",
    "userfaultfd", "vfork", "vm", "vm-addr", "vm-rw", "vm-segv", "vm-splice", "zero",
)  # fmt: skip
KNOWN: thirdparty.Known = {
    "ksm": (".", "stress-ng 0.15, Debian's, has no such stressor yet"),
    "mlockmany": (".", 'stress-ng does not start what it calls pathological: "may hang or reboot the machine"'),
}
# Of each of two processes, for those that take a size. The guest has 256 MB.
SIZES = {"vm": "160M", "mmap": "80M", "malloc": "80M", "memfd": "80M", "shm": "16M"}

RUN = """
cd /scratch
run() {{
  timeout -k 5 60 stress-ng --$1 2 $2 --timeout 5 --verify --oomable > $RESULTS/$1 2>&1
  echo "exit $?" >> $RESULTS/$1
}}
{commands}
settle; left
"""


def commands(stressors: Iterable[str]) -> str:
    """A line for each."""
    sizes = {name: f"--{name}-bytes {size}" for name, size in SIZES.items()}
    return "\n".join(f"run {name} '{sizes.get(name, '')}'" for name in stressors)


pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("stress-ng") is None, reason="needs Debian's package stress-ng"),
]


def outcome_of(text: str) -> str:
    """What a stressor came to, from what stress-ng printed and its exit code: 3 and 4 say that it cannot run."""
    code = int(text.rpartition("exit ")[2])
    if code == 0:
        return "skip" if "skipping" in text else "ok"
    return "skip" if code in (3, 4) else "not ok"


@pytest.fixture(scope="module")
def outcome(boot_guest: Boot) -> Callable[..., Outcome]:
    """outcome(kernel, mode, swap, stressors): the results of one guest, which must not complain."""

    def run(kernel: str, mode: str, swap: str, stressors: tuple[str, ...] = STRESSORS) -> Outcome:
        result = boot_guest(
            RUN.format(commands=commands(stressors)),
            kernel=kernel, flavour="full", mode=mode, swap=swap, mem_bytes=256 * MIB, cpus=2, pool_percent=60,
            scratch=256 * MIB, scratch_mounted=True, timeout=3000.0,
        )  # fmt: skip
        if kernel == "vswap":
            assert nothing_is_left(result), result.files["left"]
            assert result.peak.slots_used > 5000 or stressors != STRESSORS  # a few of them need not swap
        # A stressor is its only test.
        found = {name: {name: outcome_of(result.files[name])} for name in stressors}
        for name, tests in found.items():
            if "not ok" in tests.values():
                print(kernel, mode, swap, name, result.files[name])  # noqa: T201 (shown when a test fails)
        return found

    return run


@pytest.fixture(scope="module")
def mainline(outcome: Callable[..., Outcome]) -> Outcome:
    """What mainline comes to, with a swap file."""
    return outcome("mainline", "auto", "file:512M")


@pytest.mark.kernel("mainline", "um", "full")
def test_mainline(mainline: Outcome) -> None:
    """Most of it runs there: otherwise the comparison says nothing."""
    assert len(thirdparty.passed(mainline)) >= 25, mainline


@pytest.mark.kernel("mainline", "um", "full")
@pytest.mark.kernel("vswap", "um", "full")
@thirdparty.IN_EACH_SETUP
def test_what_passes_on_mainline_passes(
    outcome: Callable[..., Outcome], mainline: Outcome, note_outcomes: NoteOutcomes, mode: str, swap: str
) -> None:
    """Some stressors fail when the host is busy: hence the second turn."""
    thirdparty.compare("stress-ng", outcome, mainline, note_outcomes, mode, swap, KNOWN)
