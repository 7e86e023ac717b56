# SPDX-License-Identifier: GPL-2.0
"""A snapshot in Prometheus' text format."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vswapctl import rates
from vswapctl.cgroups import Usage
from vswapctl.snapshot import Snapshot
from vswapctl.units import in_bytes, text

Labels = Mapping[str, str]
Value = tuple[Labels, float]


class Metric(NamedTuple):
    """One metric with its samples."""

    name: str
    kind: str
    text: str
    values: list[Value]


def _gauge(name: str, text: str, *values: float | int | None) -> Metric:
    return Metric(name, "gauge", text, [({}, value) for value in values if value is not None])


def _counter(name: str, text: str, *values: Value) -> Metric:
    return Metric(name, "counter", text, list(values))


def _by(name: str, text: str, label: str, values: Iterable[tuple[str, float | int | None]]) -> Metric:
    return Metric(name, "gauge", text, [({label: key}, value) for key, value in values if value is not None])


def _virtual(snap: Snapshot) -> list[Metric]:
    slots = snap.slots
    found = [_gauge("vswap_available", "1 if the kernel has virtual swap.", int(slots is not None))]
    if slots is None:
        return found
    counts = {"zero": slots.zero, "zswap": slots.zswap, "device": slots.device, "cached": slots.cached}
    backings = [(name, in_bytes(count)) for name, count in counts.items()]
    modes = [(mode, int(mode == slots.mode)) for mode in ("never", "auto", "always")]
    return found + [
        _by("vswap_mode", "1 for the mode that is set.", "mode", modes),
        _by("vswap_slot_bytes", "Pages with virtual slots, by where the page is.", "backing", backings),
        _gauge("vswap_refused_bytes", "Of the cached, those that do not compress.", in_bytes(slots.refused)),
        _gauge("vswap_slots_max", "Virtual slots there can be.", slots.max),
        _gauge("vswap_metadata_bytes", "Memory that describes virtual slots.", slots.metadata),
        _gauge(
            "vswap_device_contiguous_bytes",
            "Free space of all devices in free clusters, not between used slots.",
            in_bytes(slots.contiguous),
        ),
    ]


def _zswap(snap: Snapshot) -> list[Metric]:
    zswap = snap.zswap
    if zswap is None:
        return []
    return [
        _gauge("vswap_zswap_enabled", "1 if zswap is on.", int(zswap.enabled)),
        _gauge("vswap_zswap_stored_bytes", "Data in zswap, before compression.", zswap.stored),
        _gauge("vswap_zswap_pool_bytes", "Memory that zswap's pool takes.", zswap.pool),
        _gauge("vswap_zswap_pool_limit_bytes", "What the pool may take.", zswap.limit),
        _gauge("vswap_zswap_entry_bytes", "Memory for zswap's entries and handles, computed.", zswap.entries),
        _gauge("vswap_zswap_incompressible_bytes", "Data that zswap holds as it is.", snap.incompressible),
        _gauge("vswap_ram_gained_bytes", "RAM that is free thanks to compression, after its costs.", snap.gained),
    ]


def _devices(snap: Snapshot) -> list[Metric]:
    devices, zram = snap.devices, snap.zram
    return [
        _by(
            "vswap_device_size_bytes",
            "Its size.",
            "device",
            ((dev.name, dev.size) for dev in devices),
        ),
        _by("vswap_device_used_bytes", "Space in use on it.", "device", ((dev.name, dev.used) for dev in devices)),
        _by("vswap_zram_data_bytes", "Data in a zram disk.", "device", ((disk.name, disk.data) for disk in zram)),
        _by("vswap_zram_memory_bytes", "Memory it takes.", "device", ((disk.name, disk.memory) for disk in zram)),
    ]


def collect(snap: Snapshot, groups: Iterable[Usage] = ()) -> list[Metric]:
    """All metrics that have a value on this kernel."""
    listed = list(groups)
    events: list[Value] = [({"event": name}, count) for name, count in rates.known(snap.vmstat).items()]
    found = [
        _gauge("vswap_memory_total_bytes", "RAM.", snap.total),
        _gauge("vswap_memory_available_bytes", "RAM that a new program could have.", snap.available),
        *_virtual(snap),
        *_zswap(snap),
        *_devices(snap),
        _counter("vswap_pages_total", "Pages since boot, by event of /proc/vmstat.", *events),
        _counter("vswap_refuse_attempts_total",
                 "Attempts to swap out what does not compress and has no device, each time it is met.",
                 *(({}, count) for count in rates.attempts(snap.vmstat).values())),
        _counter("vswap_reserve_total", "Clusters whose tables had to come from the reserve.",
                 *([({}, snap.vmstat["vswap_reserve"])] if "vswap_reserve" in snap.vmstat else [])),
        _counter("vswap_memory_stalled_seconds_total", "Time that some or all programs waited for memory.",
                 *(({"programs": name}, count / 1e6) for name, count in snap.stalled.items())),
        _by("vswap_group_swap_bytes", "Space on devices of a control group, without groups in it.", "group",
            ((usage.group, usage.swap) for usage in listed)),
        _by("vswap_group_zswap_bytes", "Memory in zswap of a control group, without groups in it.", "group",
            ((usage.group, usage.zswap) for usage in listed)),
    ]  # fmt: skip
    return [metric for metric in found if metric.values]


def _quoted(name: str) -> str:
    # A group's name may be no UTF-8, and two of them must not become one.
    return text(name).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render(metrics: Iterable[Metric]) -> str:
    """The text; version 0.0.4 of the format."""
    lines = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}"]
        for labels, value in metric.values:
            inner = ",".join(f'{key}="{_quoted(value)}"' for key, value in labels.items())
            lines.append(f"{metric.name}{{{inner}}} {value}" if inner else f"{metric.name} {value}")
    return "\n".join(lines) + "\n"
