# SPDX-License-Identifier: GPL-2.0
"""Figures out of what the in-kernel benchmark writes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.guest.fakes import spec
from vswaplab.bench import suites, swapbench
from vswaplab.bench.suite import Room, Unverified
from vswaplab.bench.suites.metadata import SMALL
from vswaplab.bench.suites.micro import SUITES

MIB = 1 << 20
ROOM = Room(512 * MIB, 1, "um")


def lines(*objects: dict[str, Any]) -> dict[str, str]:
    return {swapbench.RESULT: "".join(json.dumps(entry) + "\n" for entry in objects)}


def phase(op: str, name: str, round_number: int, ns: int, cpu: int = 0) -> dict[str, Any]:
    return {
        "op": op, "order": 0, "cpus": 1, "round": round_number, "cpu": cpu, "runs": 1, "phase": name,
        "pages": 10, "ns": ns * 10, "cycles": ns * 20,
    }  # fmt: skip


def everything(swap: int, no_data: int) -> list[dict[str, Any]]:
    """Three rounds, the first of them a hundred times as long."""
    found = []
    for number in range(3):
        times = 100 if number == 0 else 1
        found += [phase("swap", name, number, swap * times) for name in swapbench.PHASES]
        found += [phase("alloc_free", name, number, no_data * times) for name in ("alloc", "free")]
    return found


def test_per_page() -> None:
    found = swapbench.per_page(lines(*everything(3, 1)), "ns")
    assert found["swap", "store"] == 3 and found["alloc_free", "free"] == 1
    assert swapbench.per_page(lines(*everything(3, 1)), "cycles")["swap", "store"] == 6


def test_cpus_are_averaged_rounds_are_not() -> None:
    times = {1: (10, 20), 2: (30, 50), 3: (1000, 2000)}
    entries = [phase("swap", "load", number, ns, cpu) for number in times for cpu, ns in enumerate(times[number])]
    assert swapbench.per_page(lines(*entries), "ns") == {("swap", "load"): 40}


def test_what_went_wrong_is_said() -> None:
    with pytest.raises(Unverified, match="left no result"):
        swapbench.per_page({}, "ns")
    with pytest.raises(Unverified, match="swap_bench: folio_alloc_swap: error -12"):
        swapbench.per_page(lines(*everything(1, 1), {"error": "folio_alloc_swap: error -12"}), "ns")
    with pytest.raises(Unverified, match="no round"):
        swapbench.per_page(lines(phase("swap", "load", 0, 1)), "ns")
    with pytest.raises(Unverified, match="does not count cycles"):
        swapbench.per_page(lines(*({**entry, "cycles": 0} for entry in everything(1, 1))), "cycles")


def test_the_suites() -> None:
    by_name = {suite.name: suite for suite in SUITES}
    assert all(suites.find(name) is suite for name, suite in by_name.items())
    assert len(by_name) == len(SUITES) == 14
    found = by_name["micro"].parse(lines(*everything(3, 1)))
    assert set(found) == {metric.name for metric in by_name["micro"].metrics}
    assert (found["alloc+free"], found["alloc+free, no data"], found["swap-out"]) == (6, 2, 12)
    assert by_name["icount"].parse(lines(*everything(3, 1)))["load"] == 6
    assert "order=9 cpus=2" in by_name["micro9-2cpu"].script(ROOM)
    assert "order=4 cpus=4" in by_name["micro4-4cpu"].script(ROOM)
    assert by_name["micro-4cpu"].arches == ("x86_64",), "User-Mode Linux has two CPUs"
    assert by_name["micro-2cpu"].arches == ("um", "x86_64")
    for name, suite in by_name.items():
        assert ("real=1" in suite.script(ROOM)) == name.endswith("-real")
    assert by_name["micro4"].arches == ("x86_64",), "User-Mode Linux has no large folios"


def test_the_machines() -> None:
    bench = replace(spec().kernel, flavour="bench")
    for suite in SUITES:
        kernel = replace(bench, arch=suite.arches[-1])
        adapted = suite.adapt(spec(kernel=kernel, swap="file:1G"))
        adapted.check()
        assert adapted.swap.startswith("ram:")
        assert suite.adapt(spec(kernel=kernel)).swap == "none"
        assert suite.adapt(spec(kernel=kernel, swap="zram:1G")).swap == adapted.swap.replace("ram:", "zram:")
        assert "zram" in suite.setups
    assert suites.find("icount").adapt(spec(kernel=replace(bench, arch="x86_64"))).icount


def memory(used: int, zswapped: int = 0, device: int = 0) -> str:
    """A /proc/meminfo of a kernel that uses so many bytes for itself."""
    sizes = {
        "MemTotal": 1000 * MIB, "MemFree": 900 * MIB - used, "Buffers": 20 * MIB, "Cached": 30 * MIB,
        "SwapCached": 0, "AnonPages": 50 * MIB, "Zswap": 0, "Zswapped": zswapped * 4096,
        "SwapTotal": device * 4096, "SwapFree": 0,
    }  # fmt: skip
    return "".join(f"{name}: {size >> 10} kB\n" for name, size in sizes.items()) + "HugePages_Total: 0\n"


def slabs(entries: int = 0, nodes: int = 0) -> str:
    """A /proc/slabinfo with so many slabs of a page."""
    rows = {"zswap_entry": entries, "radix_tree_node": nodes, "kmalloc-64": 5}
    tail = "1 : tunables 0 0 0 : slabdata"
    return "version\n# header\n" + "".join(f"{name} 1 1 56 73 {tail} {n} {n} 0\n" for name, n in rows.items())


def filled(**changes: str) -> dict[str, str]:
    """What a guest leaves in which a million slots in zswap took 20 MB."""
    slots = 1 << 20
    steps = {"off": 0, "0": 1, "25": 5, "50": 10, "75": 15, "100": 20}
    found = lines(
        *({"op": "fill", "filled": slots // 4 * n, "own_bytes": 0} for n in range(1, 5)),
        {"op": "drain", "filled": 0},
    )
    for name, used in steps.items():
        found[f"meminfo.{name}"] = memory((used + 8 if name == "100" else used) * MIB, zswapped=slots)
        found[f"slab.{name}"] = slabs(8 * 256 if name == "100" else 0, 256 if name == "100" else 0)
    return {**found, **changes}


def test_metadata() -> None:
    found = SMALL.parse(filled())
    assert set(found) == {metric.name for metric in SMALL.metrics}
    assert [found[f"{step} %"] for step in (0, 25, 50, 75, 100)] == [1, 5, 10, 15, 20], "zswap's entries are not"
    assert found["zswap's trees"] == 1
    assert found["bytes per slot"] == 20
    assert found["bytes per slot, entries and handles included"] == 20 + 8, "8 MB of slabs of zswap_entry"


def test_metadata_that_cannot_be() -> None:
    with pytest.raises(Unverified, match="instead of"):
        SMALL.parse(filled(**lines({"op": "fill", "filled": 5, "own_bytes": 0})))
    with pytest.raises(Unverified, match="0 are in zswap and 7 on the device"):
        SMALL.parse(filled(**{"meminfo.100": memory(28 * MIB, device=7)}))
    said = {"own.off": str(MIB), "own.100": str(20 * MIB)}
    assert SMALL.parse(filled(**said))["100 %"] == 21, "and what there was before"
    with pytest.raises(Unverified, match="the kernel says"):
        SMALL.parse(filled(**{**said, "own.100": str(40 * MIB)}))


def test_metadata_machines() -> None:
    kernel = replace(spec().kernel, flavour="bench")
    SMALL.adapt(spec(kernel=kernel)).check()
    assert SMALL.adapt(spec(kernel=kernel, swap="file:1G")).swap == f"zram:{(4 << 30) + 64 * MIB}"
    assert "swapoff" in SMALL.script(ROOM)
