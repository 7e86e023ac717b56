# SPDX-License-Identifier: GPL-2.0
"""The in-kernel benchmark in both kernels: what it refuses, what it measures, that nothing is left."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from vswaplab.bench import swapbench
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec, boot

Boot = Callable[..., GuestResult]
KERNELS = ("mainline", "vswap")
pytestmark = [
    pytest.mark.long,
    *(pytest.mark.kernel(kernel, "um", "bench") for kernel in KERNELS),
    pytest.mark.kernel("vswap", "x86_64", "bench"),
]
PRELUDE = """
B=/sys/kernel/debug/swap_bench
run() { echo "$1" > $B/run 2>/dev/null; echo $? >> $RESULTS/codes; cat $B/result >> $RESULTS/swap_bench; }
slots() { awk 'NR > 1 { used += $4 } END { print used / 4 }' /proc/swaps; }
"""


@pytest.fixture
def run(built_kernel: Callable[[str, str, str], BuiltKernel]) -> Boot:
    """Boot a kernel with a ramdisk to swap to."""

    def boot_one(kernel: str, script: str, *, arch: str = "um", **changes: Any) -> GuestResult:
        settings: dict[str, Any] = {"swap": "ram:64M", "pool_percent": 60, "cpus": 1, "timeout": 200.0, **changes}
        result = boot(GuestSpec(built_kernel(kernel, arch, "bench"), PRELUDE + script, **settings))
        assert result.status == "ok" and not result.splats, result.account
        return result

    return boot_one


def phases(result: GuestResult) -> set[tuple[str, str]]:
    found = [json.loads(line) for line in result.files["swap_bench"].splitlines()]
    assert not [entry for entry in found if "error" in entry]
    return {(entry["op"], entry["phase"]) for entry in found if entry["ns"] > 0}


@pytest.mark.parametrize("zswap", [True, False])
@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_phase_and_nothing_left(run: Boot, kernel: str, cpus: int, zswap: bool) -> None:
    text = f"run 'op=swap pages=4096 rounds=2 cpus={cpus}'; run 'op=alloc_free pages=2048 cpus={cpus}'"
    result = run(kernel, f"{text}; slots > $RESULTS/left", cpus=cpus, zswap=zswap, mode="always")
    assert result.files["codes"].split() == ["0", "0"], result.files["swap_bench"]
    assert phases(result) >= {("swap", name) for name in swapbench.PHASES}
    assert phases(result) >= {("alloc_free", name) for name in ("alloc", "map", "evict", "dup", "put", "free")}
    assert result.files["left"] == "0\n"


@pytest.mark.parametrize("swap", ["zram:64M", "none"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_pages_like_real_ones(run: Boot, kernel: str, swap: str) -> None:
    """Compressed by zram, or by zswap, to something between a half and a fifth; what comes back is verified."""
    if swap == "none" and kernel == "mainline":
        pytest.skip("it needs a device")
    used = "awk '{ print $1, $2 }' /sys/block/zram0/mm_stat" if swap != "none" else (
        "awk '/^Zswapped/ { of = $2 } /^Zswap:/ { to = $2 } END { print of, to }' /proc/meminfo"
    )  # fmt: skip
    text = f"run 'op=swap pages=4096 rounds=2 real=1'; run 'op=fill pages=4096 real=1'; {used} > $RESULTS/used"
    result = run(kernel, f"{text}; run op=drain", swap=swap, zswap=swap == "none", mode="always")
    assert result.files["codes"].split() == ["0"] * 3, result.files["swap_bench"]
    of, to = (int(word) for word in result.files["used"].split())
    assert 2 < of / to < 5


BAD = [
    ("op=nothing", "nothing: no such op"),
    ("pages=1", "op: missing"),
    ("op=swap order", "order: not KEY=VALUE"),
    ("op=swap order=4", "order: out of range"),
    ("op=swap pages=many", "pages: not a number"),
    ("op=swap rounds=0", "rounds: out of range"),
    ("op=swap cpus=9", "cpus: out of range"),
    ("op=swap real=2", "real: out of range"),
    ("op=swap speed=1", "speed: no such key"),
    ("op=swap store=0", "op=swap: store=0 is op=alloc_free"),
    ("op=fill rounds=2", "op=fill: one CPU and one round only"),
]


def test_nonsense_is_refused(run: Boot) -> None:
    result = run("mainline", "\n".join(f"run '{line}'" for line, _ in BAD))
    assert "0" not in result.files["codes"].split()
    said = [json.loads(line) for line in result.files["swap_bench"].splitlines()]
    assert [entry["error"] for entry in said if "error" in entry] == [error for _, error in BAD]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_full_device_is_a_failure_that_leaves_nothing(run: Boot, kernel: str) -> None:
    result = run(kernel, "run 'op=swap pages=32768'; slots > $RESULTS/left", zswap=False, mem_bytes=300 << 20)
    assert result.files["codes"] != "0\n"
    assert "error" in result.files["swap_bench"]
    assert result.files["left"] == "0\n"


@pytest.mark.parametrize("kernel", KERNELS)
def test_fill_and_drain(run: Boot, kernel: str) -> None:
    zswapped = "awk '/^Zswapped/ { print $2 / 4 }' /proc/meminfo >> $RESULTS/zswapped"
    result = run(
        kernel, f"run 'op=fill pages=5000'; run 'op=fill pages=600'; {zswapped}; run op=drain; {zswapped}"
    )
    assert result.files["codes"].split() == ["0"] * 3, result.files["swap_bench"]
    found = [json.loads(line)["filled"] for line in result.files["swap_bench"].splitlines()]
    assert found == [5000, 5600, 0]
    assert result.files["zswapped"].split() == ["5600", "0"]


@pytest.mark.parametrize("order", [4, 9])
@pytest.mark.parametrize("zswap", [True, False])
def test_large_folios(run: Boot, order: int, zswap: bool) -> None:
    text = f"run 'op=swap order={order} pages=4096 rounds=2'; slots > $RESULTS/left"
    result = run("vswap", text, arch="x86_64", zswap=zswap, mode="always")
    assert result.files["codes"] == "0\n", result.files["swap_bench"]
    assert phases(result) >= {("swap", name) for name in swapbench.PHASES}
    assert result.files["left"] == "0\n"
