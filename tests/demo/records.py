# SPDX-License-Identifier: GPL-2.0
"""Records made by hand: small, and of every kind of machine there is."""

from dataclasses import replace

from vswaplab.demo.record import Record, Recorded
from vswaplab.demo.work import Phase, Step

MIB = 1 << 20
TOTAL_KIB = 240 * 1024
EVERY = 0.125  # seconds
START = 3.0  # seconds after boot


def ramp(count: int, most: float) -> list[float]:
    """Up to the middle, and down again."""
    half = (count - 1) / 2
    return [most * (1 - abs(at - half) / half) // 1 for at in range(count)]


def recorded(kind: str, count: int = 81, **changes: object) -> Recorded:
    """A machine that fills swap and empties it; ``kind`` is "mainline", "zram" or "virtual swap"."""
    slots = ramp(count, 100_000)
    compressed = [value * 4 // 3 for value in slots]
    totals = [float(at * 1000) for at in range(count)]
    columns: dict[str, list[float]] = {
        "t": [START + at * EVERY for at in range(count)],
        "free_kib": [20_000.0] * count, "available_kib": [30_000.0] * count,
        "anonymous_kib": [60_000.0] * count, "shared_kib": [0.0] * count,
        "pswpin": [0.0] * count, "pswpout": totals if kind == "zram" else [0.0] * count,
        "zswpin": [0.0] * count, "zswpout": totals if kind != "zram" else [0.0] * count, "zswpwb": [0.0] * count,
    }  # fmt: skip
    if kind == "zram":
        columns |= {"zram_memory_kib": compressed, "zram_data_kib": [value * 4 for value in slots]}
        columns |= {"zswap_pool_kib": [0.0] * count, "zswap_data_kib": [0.0] * count}
    else:
        columns |= {"zswap_pool_kib": compressed, "zswap_data_kib": [value * 4 for value in slots]}
    if kind == "virtual swap":
        none = [0.0] * count
        columns |= {"slots_used": slots, "slots_zswap": slots, "slots_zero": none, "slots_physical": none}
        columns |= {"slots_cached": none, "metadata_kib": ramp(count, 2000), "device_slots": none}
    else:
        columns["device_slots"] = [value + 10 for value in slots]
    end = START + (count - 1) * EVERY
    middle = START + 4
    steps = (Step("fill", START, START + 2), Step("verify", START + 2, middle))
    found = Recorded(
        name=kind, summary=f"{kind} for a test", kernel="vswap" if kind == "virtual swap" else "mainline",
        release="7.3.4", setup="zram" if kind == "zram" else "zswap",
        swap="none" if kind == "virtual swap" else "file:576M", compressor="lz4", pool_percent=90,
        mem_bytes=256 * MIB, mem_total_kib=TOTAL_KIB, cpus=2, result="verified", failure=None, seconds=10.0,
        phases=(
            Phase("swapcheck", START, middle, 0, 512 * MIB, True, steps),
            Phase("redis-server", middle, end, 0, 384 * MIB, True),
        ),
        columns=columns,
    )  # fmt: skip
    return replace(found, **changes)  # type: ignore[arg-type]


def failed(name: str = "mainline") -> Recorded:
    """One that was killed in the middle: shorter than others."""
    return recorded(
        name, 41, result="out of memory", failure=f"{name}: killed for lack of memory (swapcheck)",
        phases=(Phase("swapcheck", START, START + 5, 137),),
    )  # fmt: skip


def record(*machines: Recorded) -> Record:
    """A record of these machines, of all three if none is given."""
    shown = machines or tuple(recorded(name) for name in ("mainline", "zram", "virtual swap"))
    return Record("2026-11-23 04:00 UTC", "um", "release", ("swapcheck fills <memory> & verifies",), shown)
