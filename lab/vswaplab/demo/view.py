# SPDX-License-Identifier: GPL-2.0
"""What the page draws of a record: areas, lines and rates over time, thinned to what a screen shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vswaplab.demo.record import Recorded
from vswaplab.demo.work import Phase

POINTS = 400  # of each curve, about
WINDOW = 0.5  # seconds: rates are means over at least this time
PAGE_KIB = 4
RATES = ("pswpout", "pswpin", "zswpout", "zswpin", "zswpwb")


@dataclass(frozen=True)
class Series:
    """One curve, or one layer of a stack; ``key`` names its colour, ``values`` has one for each time."""

    key: str
    label: str
    values: Sequence[float]

    def thinned(self, chosen: Sequence[int]) -> "Series":
        """The same with some of its values."""
        return Series(self.key, self.label, [self.values[at] for at in chosen])


@dataclass(frozen=True)
class Plot:
    """``unit`` is that of all values. ``stack`` is drawn from the bottom up, ``lines`` over it."""

    name: str
    unit: str
    stack: tuple[Series, ...] = ()
    lines: tuple[Series, ...] = ()


def _column(found: Recorded, name: str) -> Sequence[float]:
    """A counter; zeros where the kernel has none."""
    return found.columns.get(name) or [0] * len(found.columns["t"])


def _rest(whole: Sequence[float], parts: Sequence[Sequence[float]]) -> list[float]:
    """What the parts leave of the whole, which is at times less than they are: they are not read at once."""
    return [max(0, all_ - sum(part)) for all_, *part in zip(whole, *parts, strict=True)]


def memory(found: Recorded) -> Plot:
    """RAM by use, in KiB: it adds up to all there is."""
    shared = _column(found, "shared_kib")
    programs = [a + b for a, b in zip(_column(found, "anonymous_kib"), shared, strict=True)]
    pool = [a + b for a, b in zip(
        _column(found, "zswap_pool_kib"), _column(found, "zram_memory_kib"), strict=True
    )]  # fmt: skip
    free = _column(found, "free_kib")
    layers = [
        Series("programs", "programs' pages", programs),
        Series("compressed", "compressed data", pool),
    ]
    if "metadata_kib" in found.columns:
        layers.append(Series("metadata", "metadata of virtual slots", _column(found, "metadata_kib")))
    parts = [free, *(layer.values for layer in layers)]
    whole = [found.mem_total_kib] * len(free)
    layers += [Series("rest", "kernel and files", _rest(whole, parts)), Series("free", "free", free)]
    available = Series("available", "available", _column(found, "available_kib"))
    return Plot("Memory", "KiB", tuple(layers), (available,))


def slots(found: Recorded) -> Plot:
    """Slots in use by where their data is, in pages."""
    if "slots_used" in found.columns:
        names = ("zswap", "in zswap"), ("zero", "zero-filled, nothing stored"), ("physical", "on a device")
        layers = [Series(key, label, _column(found, f"slots_{key}")) for key, label in names]
        parts = [layer.values for layer in layers]
        rest = _column(found, "slots_cached") if "slots_cached" in found.columns else (
            _rest(_column(found, "slots_used"), parts)
        )  # fmt: skip
        return Plot("Slots by backing", "pages", (*layers, Series("cached", "in memory only", rest)))
    used = _column(found, "device_slots")
    key, label = ("zram", "in zram") if "zram_data_kib" in found.columns else ("zswap", "in zswap")
    inside = [kib // PAGE_KIB for kib in _column(found, f"{key}_data_kib")]
    held = [min(a, b) for a, b in zip(inside, used, strict=True)]
    other = Series("other", "not compressed: zero-filled, in memory only, or on a disk", _rest(used, [held]))
    return Plot("Slots by backing", "pages", (Series(key, label, held), other))


def rate(times: Sequence[float], values: Sequence[float], window: float) -> list[float]:
    """Events per second, at each time the mean of the ``window`` seconds before it, or a little more."""
    found, start = [], 0
    for at, now in enumerate(times):
        while start + 1 < at and now - times[start + 1] >= window:
            start += 1
        seconds = now - times[start]
        # A counter that seems to go backwards is one of several CPUs' that was read late.
        found.append(max(0.0, values[at] - values[start]) / seconds if seconds > 0 else 0.0)
    return found


def rates(found: Recorded) -> Plot:
    """Pages that moved, per second."""
    labels = {
        "pswpout": "written to the device", "pswpin": "read from the device", "zswpout": "into zswap",
        "zswpin": "out of zswap", "zswpwb": "from zswap to the device",
    }  # fmt: skip
    times = found.columns["t"]
    span = times[-1] - times[0] if times else 0
    window = max(WINDOW, span / POINTS)
    lines = [
        Series(name, f"{labels[name]} ({name})", rate(times, found.columns[name], window))
        for name in RATES
        if name in found.columns
    ]
    return Plot("Pages moved", "pages/s", (), tuple(lines))


def thinning(count: int, most: int = POINTS) -> list[int]:
    """Which of ``count`` samples are kept: evenly spaced, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(at * (count - 1) / (most - 1)) for at in range(most)})


def _stages(phases: Sequence[Phase], start: float, end: float) -> list[dict[str, Any]]:
    """What the machine did when, in seconds since the first sample; steps where the program told them."""
    found: list[tuple[str, float, float]] = []
    for phase in phases:
        last = end if phase.end is None else phase.end
        parts = [(f"{phase.name}: {step.name}", step.begin, step.end) for step in phase.steps]
        found += parts or [(phase.name, phase.begin, last)]
    return [
        {"name": name, "begin": round(begin - start, 2), "end": round(until - start, 2)}
        for name, begin, until in found
    ]


def _series(found: Series, chosen: Sequence[int]) -> dict[str, Any]:
    return {"key": found.key, "label": found.label, "values": [round(v) for v in found.thinned(chosen).values]}


def machine(found: Recorded) -> dict[str, Any]:
    """What the script of the page gets for one machine."""
    times = found.columns["t"]
    start = times[0] if times else 0.0
    chosen = thinning(len(times))
    plots = [memory(found), slots(found), rates(found)]
    return {
        "name": found.name,
        "result": found.result,
        "failed": found.failure is not None,
        "t": [round(times[at] - start, 2) for at in chosen],
        "device": [_column(found, "device_slots")[at] for at in chosen],
        "stages": _stages(found.phases, start, times[-1] if times else 0.0),
        "plots": [
            {
                "name": plot.name, "unit": plot.unit,
                "stack": [_series(one, chosen) for one in plot.stack],
                "lines": [_series(one, chosen) for one in plot.lines],
            }
            for plot in plots
        ],
    }  # fmt: skip


def data(machines: Sequence[Recorded]) -> Mapping[str, Any]:
    """All that the script of the page gets."""
    return {"machines": [machine(one) for one in machines]}
