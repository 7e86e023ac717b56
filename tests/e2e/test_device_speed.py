# SPDX-License-Identifier: GPL-2.0
"""How fast data moves, against mainline in the same run: kernels alternate, medians are compared."""

import logging
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer
from vswaplab.guest import GuestResult

pytestmark = [
    pytest.mark.long,
    pytest.mark.kernel("vswap", "um", "release"),
    pytest.mark.kernel("mainline", "um", "release"),
]

ROUNDS = 3
KERNELS = ("mainline", "vswap")
NOW = "now() { cut -d' ' -f1 /proc/uptime; }\n"


def medians(run: Callable[[str], float]) -> dict[str, float]:
    """The median of ROUNDS runs for each kernel."""
    figures: dict[str, list[float]] = {kernel: [] for kernel in KERNELS}
    for _ in range(ROUNDS):
        for kernel in KERNELS:
            figures[kernel].append(run(kernel))
    logging.info("rates in all rounds: %s", figures)  # shown when a test fails, or with --log-cli-level=INFO
    return {kernel: statistics.median(values) for kernel, values in figures.items()}


# usemem writes in random order, so that neighbours in a page table are not neighbours on the device.
# It is stopped in the middle, all of it is swapped out, and after swapoff it goes on and verifies.
SWAPOFF = (
    NOW
    + """
dev=$(device)
group a
in_group a usemem -n 8 -O -R -r --repeat 12 64M --json > $RESULTS/out.json & pid=$!
i=0
while [ $i -lt 3000 ] && [ $(cat $CG/a/memory.current) -lt $((505<<20)) ]; do sleep 0.01; i=$((i+1)); done
procs=$(cat $CG/a/cgroup.procs); kill -STOP $procs
while [ $(cat $CG/a/memory.current) -gt $((24<<20)) ]; do
  echo 600M > $CG/a/memory.reclaim 2>/dev/null; sleep 0.2
done
used > $RESULTS/used
a=$(now); swapoff $dev 2> $RESULTS/err; code=$?; b=$(now)
echo $code $a $b > $RESULTS/swapoff
kill -CONT $procs; wait $pid
"""
)


def swapoff_rate(result: GuestResult) -> float:
    """Pages per second that swapoff moved; everything is verified."""
    assert answer(result, "out.json")["verified"] is True
    code, start, end = map(float, result.files["swapoff"].split())
    pages = int(result.files["used"]) // 4
    assert code == 0 and pages > 60_000, (pages, result.files["err"], result.console[-500:])
    return pages / (end - start)


def test_swapoff_of_512_mb(boot_guest: Boot) -> None:
    """Eight processes, fragmented page tables, enough memory for all: at least five times faster."""

    def run(kernel: str) -> float:
        return swapoff_rate(
            boot_guest(
                SWAPOFF, kernel=kernel, flavour="release", mem_bytes=900 * MIB, swap="file:1G", zswap=False,
                mode="always", cpus=2,
            )
        )  # fmt: skip

    rates = medians(run)
    assert rates["vswap"] >= 5 * rates["mainline"], rates


def test_swapoff_does_not_need_memory_for_everything(boot_guest: Boot) -> None:
    """300 MB on the device, 256 MB of memory, and zswap: mainline's swapoff is killed."""
    result = boot_guest(
        """
dev=$(device)
swapcheck --size 512M -P 8 --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ]; do sleep 0.2; done
used > $RESULTS/used
echo Y > $Z/enabled; swapoff $dev; echo $? > $RESULTS/code
touch /run/go; wait $pid
""",
        flavour="release", mem_bytes=256 * MIB, swap="file:1G", zswap=False, mode="always",
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True
    assert int(result.files["used"]) > 256 << 10 and int(result.files["code"]) == 0
    assert result.oom_kills == []


# The pool is filled, its limit lowered, and pages of another group offered: what is above the limit is
# written back, by the worker alone. Memory and disk were used before: the host need not find them meanwhile.
WRITEBACK = f"""
dev=$(device)
swapoff $dev; dd if=/dev/zero of=$dev bs=1M >/dev/null 2>&1; sync; mkswap $dev >/dev/null; swapon $dev
usemem -O {{used}}M > /dev/null 2>&1
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
group a; group b
in_group a swapcheck --size {{size}}M --text 30 --passes 1 --ready-file /run/a --wait-file /run/go \
  --json > $RESULTS/a.json & pa=$!
in_group b swapcheck --size 8M --text 30 --passes 1 --ready-file /run/b --wait-file /run/go \
  --json > $RESULTS/b.json & pb=$!
while [ ! -e /run/a ] || [ ! -e /run/b ]; do sleep 0.1; done
for i in 1 2 3; do echo {{size}}M > $CG/a/memory.reclaim 2>/dev/null; done
python3 {Path(__file__).with_name("writeback_in_guest.py")} $CG/b/memory.reclaim > $RESULTS/writeback
touch /run/go; wait $pa $pb
"""


def writeback_rate(result: GuestResult, least: int) -> float:
    """Pages per second of work of zswap's; everything is verified. At least ``least`` pages."""
    assert answer(result, "a.json")["verified"] is True and answer(result, "b.json")["verified"] is True
    seen = answer(result, "writeback")
    assert seen["pages"] > least, seen
    return float(seen["pages"] / seen["seconds"])


@pytest.mark.kernel("vswap", "x86_64", "bench")
@pytest.mark.kernel("mainline", "x86_64", "bench")
@pytest.mark.parametrize("cpus", [2, 1])
def test_writeback_throughput(boot_guest: Boot, cpus: int) -> None:
    """With the pool at its limit: at least twice mainline's, on a virtio disk.

    Two to four times with two CPUs, depending on how QEMU runs them. With a single one requests end when the
    worker lets go of the CPU, many at once, on mainline too, and decompression is most of the time.
    """

    def run(kernel: str) -> float:
        result = boot_guest(
            WRITEBACK.format(used=250, size=128), kernel=kernel, arch="x86_64", flavour="bench",
            mem_bytes=400 * MIB, swap="file:256M", pool_percent=50, mode="always", cpus=cpus,
        )  # fmt: skip
        return writeback_rate(result, 25_000)

    rates = medians(run)
    assert rates["vswap"] >= 2 * rates["mainline"], rates


def test_writeback_throughput_without_requests(boot_guest: Boot) -> None:
    """The same on a disk of User-Mode Linux, where a request costs little and decompression most.

    Mainline: 107,000 to 160,000 pages/s in twenty rounds; virtual swap: 218,000 to 317,000, with medians
    at 1.8 to 2.2 times mainline's. The host's two CPUs are shared by worker, disk and everything else.
    """

    def run(kernel: str) -> float:
        result = boot_guest(
            WRITEBACK.format(used=400, size=320), kernel=kernel, flavour="release",
            mem_bytes=500 * MIB, swap="file:512M", pool_percent=60, mode="always", cpus=2,
        )  # fmt: skip
        return writeback_rate(result, 50_000)

    rates = medians(run)
    assert rates["vswap"] >= 1.5 * rates["mainline"], rates
