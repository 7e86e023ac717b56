# SPDX-License-Identifier: GPL-2.0
"""Suspend to disk, with pages in zswap, on the device and in the swap cache."""

import errno
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.common import HELD, MIB, Boot, answer, number, on_x86_64
from vswaplab import paths
from vswaplab.guest.qemu import SuspendingQemu

PAGES = 2048
SOURCE = Path(__file__).with_name("suspend_in_guest.c")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-static", "-Iswapped", "-Icommon"]
PARTS = ["swapped/memory.c", "common/reclaim.c", "common/util.c"]
FIELDS: dict[str, Any] = {
    "arch": "x86_64", "flavour": "release", "cpus": 2, "mem_bytes": 256 * MIB,
    "swap": "file:512M", "mode": "always", "machine": SuspendingQemu(),
}  # fmt: skip

# All that is to run after a suspend has to be in memory, no shell either: 9p's device does not come back.
IN_MEMORY = """
mkdir /run/in
cp %s $(command -v swapcheck) /run/in
for d in proc sys dev run; do mkdir /run/in/$d; mount --rbind /$d /run/in/$d; done
"""


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The part of a script that puts the program into the guest's memory."""
    program = tmp_path_factory.mktemp("suspend") / "suspend_in_guest"
    subprocess.run(["gcc", *FLAGS, "-o", program, SOURCE, *PARTS], cwd=paths.workloads_dir(), check=True)
    return IN_MEMORY % program


@on_x86_64("vswap-off")
def test_a_whole_suspend(boot_guest: Boot, in_memory: str, kernel: str) -> None:
    """The image is written, read back and restored under processes that go on; all of them verify their bytes.

    That is the kernel's test_resume: only the reset of the machine is missing.
    """
    result = boot_guest(
        in_memory
        + HELD
        + """
echo N > $Z/enabled
hold disk /run/in/swapcheck --size 48M --pageout
echo Y > $Z/enabled
hold anon /run/in/swapcheck --size 48M --zero 20 --pageout
hold fork /run/in/swapcheck --mode fork --size 24M --children 3 --pageout
group shm; echo 0 > $CG/shm/cgroup.procs
hold shm /run/in/swapcheck --mode shm-tmpfs --size 24M --reclaim
echo 0 > $CG/cgroup.procs
/run/in/swapcheck --mode churn --size 48M --seconds 20 --json > $RESULTS/churn.json &
sleep 3
used > $RESULTS/device; awk '/^Zswapped/ { print $2 }' /proc/meminfo > $RESULTS/zswapped
exec chroot /run/in /suspend_in_guest disk /run/go-disk /run/go-anon /run/go-fork /run/go-shm > $RESULTS/out.json
""",
        kernel=kernel,
        **FIELDS,
    )
    done = ("Image saving done", "Image loading done", "hibernation exit")
    assert [result.console.count(text) for text in done] == [1, 1, 1], result.account
    assert answer(result, "out.json") == {"error": 0, "children": 5, "failed": 0}, result.account
    for name in ("disk", "anon", "fork", "shm", "churn"):
        assert answer(result, f"{name}.json")["verified"] is True, name
    assert number(result, "device") > 40 << 10 and number(result, "zswapped") > 64 << 10


@on_x86_64("mainline")
def test_a_pool_that_is_too_large_for_an_image(boot_guest: Boot, in_memory: str, kernel: str) -> None:
    """What is in zswap is part of the image, which takes at most half of the memory: a larger pool is refused."""
    result = boot_guest(
        in_memory
        + HELD
        + """
hold anon /run/in/swapcheck --size 280M --ratio 2 --pageout
exec chroot /run/in /suspend_in_guest disk /run/go-anon > $RESULTS/out.json
""",
        kernel=kernel,
        **FIELDS,
    )
    assert re.search(r"Image allocation is \d+ pages short", result.console), result.account
    assert answer(result, "out.json") == {"error": errno.ENOMEM, "children": 1, "failed": 0}
    assert answer(result, "anon.json")["verified"] is True


@on_x86_64("vswap-off")
def test_an_image_keeps_its_slots(boot_guest: Boot, in_memory: str, kernel: str) -> None:
    """What is read from the device while an image exists leaves its slot there, also if its group is gone.

    The image still says that the data is in that slot, in which a page of the image would be written.
    """
    result = boot_guest(
        in_memory
        + """
echo 0 > /proc/sys/vm/page-cluster
group new; group old
echo 0 > $CG/old/cgroup.procs
exec chroot /run/in /suspend_in_guest image $CG/new $CG/old > $RESULTS/out.json
""",
        kernel=kernel,
        zswap=False,
        **FIELDS,
    )
    seen = answer(result, "out.json")
    before, during, after = seen["used"]
    assert seen["made"] == 1 and seen["wrong"] == 0, seen
    assert before == during >= PAGES, seen
    # Without an image they are freed: virtual slots are charged to the group that has the page now. So may those
    # be of the few pages of the program itself that were swapped out as well.
    freed = before - after - (PAGES // 2 if kernel == "vswap" else 0)
    assert 0 <= freed < 16, seen
