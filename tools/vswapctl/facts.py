# SPDX-License-Identifier: GPL-2.0
"""A snapshot as plain data: what status --json prints. Sizes in bytes, None for the unknown."""

from typing import Any

from vswapctl import rates
from vswapctl.snapshot import Snapshot
from vswapctl.units import in_bytes


def _virtual(snap: Snapshot) -> dict[str, Any] | None:
    slots = snap.slots
    if slots is None:
        return None
    return {
        "mode": slots.mode,
        "slots_used": slots.used,
        "slots_max": slots.max,
        "zero_bytes": in_bytes(slots.zero),
        "zswap_bytes": in_bytes(slots.zswap),
        "device_bytes": in_bytes(slots.device),
        "cached_bytes": in_bytes(slots.cached),
        "refused_bytes": in_bytes(slots.refused),
        "metadata_bytes": slots.metadata,
    }


def _zswap(snap: Snapshot) -> dict[str, Any] | None:
    zswap = snap.zswap
    if zswap is None:
        return None
    return {
        "enabled": zswap.enabled,
        "compressor": zswap.compressor,
        "shrinker": zswap.shrinker,
        "stored_bytes": zswap.stored,
        "pool_bytes": zswap.pool,
        "pool_limit_bytes": zswap.limit,
        "pool_limit_percent": zswap.max_percent,
        "entry_bytes": zswap.entries,
        "incompressible_bytes": snap.incompressible,
        "ratio": zswap.ratio,
        "counters": snap.debug,
    }


def _only(measured: dict[str, float] | None, names: dict[str, str]) -> dict[str, float] | None:
    return None if measured is None else {name: rate for name, rate in measured.items() if name in names}


def gather(snap: Snapshot, denied: list[str], measured: dict[str, float] | None) -> dict[str, Any]:
    """Everything; ``measured`` are events a second."""
    return {
        "memory": {"total_bytes": snap.total, "available_bytes": snap.available},
        "virtual_swap": _virtual(snap),
        "zswap": _zswap(snap),
        "gained_bytes": snap.gained,
        "devices": [
            {
                "name": device.name,
                "type": device.kind,
                "size_bytes": device.size,
                "used_bytes": device.used,
                "free_bytes": device.free,
                "priority": device.priority,
            }
            for device in snap.devices
        ],
        "free_fragmented": snap.fragmented,
        "zram": [
            {
                "name": disk.name,
                "data_bytes": disk.data,
                "compressed_bytes": disk.compressed,
                "memory_bytes": disk.memory,
            }
            for disk in snap.zram
        ],  # fmt: skip
        "pages_since_boot": rates.known(snap.vmstat),
        "pages_per_second": _only(measured, rates.EVENTS),
        "attempts_since_boot": rates.attempts(snap.vmstat),
        "attempts_per_second": _only(measured, rates.ATTEMPTS),
        "needs_root": denied,
    }
