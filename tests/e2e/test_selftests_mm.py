# SPDX-License-Identifier: GPL-2.0
"""The kernel's own tests of memory management, unmodified: what passes on mainline passes with virtual swap.

Mainline has a swap file and zswap. Virtual swap has the same, in both modes, and no device at all.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.e2e import tap, thirdparty
from tests.e2e.common import MIB, Boot, NoteOutcomes
from tests.e2e.thirdparty import Outcome
from vswaplab.tree import buildtree

# Those that swap, map, move, merge or split anonymous memory and shmem. Left out: ksm_tests, migration, rmap
# and mlock-random-test need libraries of the host's; folio_split_race_test takes minutes here; soft-dirty needs
# CONFIG_MEM_SOFT_DIRTY, which the lab's kernels do not have, and hugetlb-* need CONFIG_HUGETLBFS.
PROGRAMS = (
    "cow", "droppable", "guard-regions", "khugepaged", "ksm_functional_tests", "madv_populate",
    "map_populate", "merge", "mkdirty", "mlock2-tests", "mrelease_test", "mremap_dontunmap", "mremap_test",
    "on-fault-limit", "pagemap_ioctl", "prctl_thp_disable", "process_madv", "split_huge_page_test",
    "transhuge-stress", "uffd-stress", "uffd-unit-tests", "uffd-wp-mremap",
)  # fmt: skip
# Those that want arguments, and what run_vmtests.sh gives them: each is a run of its own.
ARGUMENTS = {"transhuge-stress": ("-d 20",), "uffd-stress": ("anon 20 16", "shmem 20 16")}
SECONDS = 400

NO_FORCE = "the lab's kernels let only debuggers write to read-only memory through /proc/PID/mem"
# What fails on mainline as well: the tests of a program, and why. All others have to pass there.
KNOWN = {
    "ksm_functional_tests": (r"ptrace write failed", NO_FORCE),
    "mkdirty": (r"write\(\) failed", NO_FORCE),
    "mremap_test": (r"2GB mremap", "a guest with 768 MB, and 512 MB of swap, does not get 2 GB"),
}

RUN = """
cd {dir}; echo 8 > /proc/sys/vm/nr_hugepages
run() {{ timeout -k 5 {seconds} {dir}/"$@" >> $RESULTS/$1 2>&1; }}
{commands}
"""


def commands(programs: Iterable[str]) -> str:
    """A line for each run."""
    return "\n".join(f"run {name} {words}" for name in programs for words in ARGUMENTS.get(name, ("",)))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the programs. Their Makefile writes beside the sources: it works on a copy."""
    tree = buildtree.source_tree("mainline").path
    top = tmp_path_factory.mktemp("selftests")
    copy, out, headers = top / "tools/testing/selftests", top / "out", top / "kernel/usr/include"
    shutil.copytree(tree / "tools/testing/selftests", copy, symlinks=True)
    for name in ("tools/include", "tools/lib", "tools/arch", "tools/scripts", "tools/build", "mm", "include"):
        (top / name).symlink_to(tree / name)
    shutil.copytree(tree / "scripts", top / "scripts", symlinks=True)
    out.mkdir()
    # Not headers_install, which wants rsync.
    subprocess.run(["make", "-s", "ARCH=x86", f"O={top / 'kernel'}", "headers"], cwd=tree, check=True, timeout=300)
    wanted = [f"{out}/{program}" for program in PROGRAMS]
    subprocess.run(
        ["make", "-s", "-C", copy / "mm", f"OUTPUT={out}", f"KHDR_INCLUDES=-isystem {headers}", *wanted],
        check=True, timeout=300,
    )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def outcome(boot_guest: Boot, programs: Path) -> Callable[..., Outcome]:
    """outcome(kernel, mode, swap, names): the results of one guest."""

    def run(kernel: str, mode: str, swap: str, names: tuple[str, ...] = PROGRAMS) -> Outcome:
        result = boot_guest(
            RUN.format(commands=commands(names), dir=programs, seconds=SECONDS),
            kernel=kernel, arch="x86_64", flavour="release", mode=mode, swap=swap, mem_bytes=768 * MIB, cpus=2,
            pool_percent=50, timeout=1800.0,
        )  # fmt: skip
        return {name: tap.outcomes(result.files[name]) for name in names}

    return run


@pytest.fixture(scope="module")
def mainline(outcome: Callable[..., Outcome]) -> Outcome:
    """What mainline comes to, with a swap file."""
    return outcome("mainline", "auto", "file:512M")


@pytest.mark.long
@pytest.mark.kernel("mainline", "x86_64", "release")
def test_mainline(mainline: Outcome) -> None:
    """Every program says something, and what fails has a known reason."""
    assert {name for name in PROGRAMS if not mainline[name]} == set()
    assert [] == [test for test, why in thirdparty.failed(mainline, KNOWN).items() if not why]


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.kernel("mainline", "x86_64", "release")
@thirdparty.IN_EACH_SETUP
def test_what_passes_on_mainline_passes(
    outcome: Callable[..., Outcome], mainline: Outcome, note_outcomes: NoteOutcomes, mode: str, swap: str
) -> None:
    """Some of the tests depend on the host's load: hence the second turn."""
    thirdparty.compare("selftests/mm", outcome, mainline, note_outcomes, mode, swap, KNOWN)
