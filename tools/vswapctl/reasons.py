# SPDX-License-Identifier: GPL-2.0
"""Why pages went to a device, or did not, as far as the counters tell."""

from vswapctl.groupinfo import Info
from vswapctl.snapshot import Snapshot
from vswapctl.units import pages, percent, size

UNKNOWABLE = (
    "which of its pages are in zswap and which on a device: the kernel counts that by group, not by process",
    "why a certain page went where it is: that is not recorded",
    "who caused what the counters of its group count: they include every process that was in it",
)


def _settings(snap: Snapshot) -> list[str]:
    found = []
    if not snap.devices:
        found.append("there is no swap device: nothing of it is on one")
    now = "what is swapped out now goes to a device" if snap.devices else "nothing can be swapped out"
    if snap.zswap is None:
        found.append(f"this kernel has no zswap: {now}")
    elif not snap.zswap.enabled:
        found.append(f"zswap is off: {now}")
    elif snap.slots is None:
        kept = "a page in zswap takes space on a device, too" if snap.devices else "zswap needs a swap device"
        why = "virtual swap is off (vswap.max_gb=0)" if snap.off_at_boot else "this kernel has no virtual swap"
        found.append(f"{why}: {kept}")
    if snap.slots and snap.slots.mode == "never":
        found.append("the mode is never: a page in zswap takes space on a device, as on mainline")
    return found


def _waits(snap: Snapshot) -> bool:
    """Whether a pool that was full waits until it has shrunk: not if nothing can be written back."""
    return snap.slots is None or snap.device_room


def _pool(snap: Snapshot) -> list[str]:
    zswap = snap.zswap
    if zswap is None or zswap.fill is None or not zswap.enabled:
        return []
    found = []
    used = f"{size(zswap.pool)}, {percent(zswap.pool, zswap.limit)} of its limit"
    if zswap.fill >= 1:
        found.append(f"zswap's pool is full ({used}): pages are written back, or not taken")
    elif zswap.fill * 100 >= (zswap.accept_percent or 100) and _waits(snap):
        found.append(f"zswap's pool is nearly full ({used}): if it was full, it takes nothing before it shrinks")
    if zswap.shrinker and snap.devices:
        found.append("zswap's shrinker is on: pages are written back under memory pressure, the pool full or not")
    return found


def _counters(snap: Snapshot) -> list[str]:
    if not snap.debug:
        return []
    said = {
        "pool_limit_hit": "times the pool was found full",
        "reject_reclaim_fail": "writes of a page to a device did not begin: it was in use, or too many were begun",
        "reject_compress_poor": "pages not taken: they do not compress",
        "reject_compress_fail": "pages that did not compress",
        "reject_alloc_fail": "pages not taken: no memory for the data",
        "reject_kmemcache_fail": "pages not taken: no memory for the entry",
    }
    return [
        f"on the whole machine since boot: {snap.debug[name]} {text}"
        for name, text in said.items()
        if snap.debug.get(name)
    ]


def _group(snap: Snapshot, info: Info) -> list[str]:
    found = []
    written_back = info.stat.get("zswpwb", 0)
    if written_back:
        found.append(
            f"{pages(written_back)} of its group were in zswap and were written back since the group was made:"
            " the pool, or a memory.zswap.max, was full, or the shrinker ran"
        )
    if info.direct:
        # A write that ends too late, as its page is in use again, is one to a device and none from zswap. How many
        # of them were the group's is not counted.
        late = bool(snap.vmstat.get("vswap_overtake"))
        found.append(
            f"{'up to ' if late else ''}{pages(info.direct)} of its group went to a device without having been in"
            " zswap: it was off, full, not permitted, or did not take them"
            + (" (pages in use again while they were written count here)" if late else "")
        )
    if info.stat.get("zswap_incomp"):
        found.append(
            f"{size(info.stat['zswap_incomp'])} of its group do not compress; zswap holds them as they are"
        )
    if info.stat.get("vswap_refused"):
        found.append(f"{size(info.stat['vswap_refused'])} of its group do not compress and had no device: in RAM")
    failed = info.swap_events.get("fail", 0)
    if failed:
        found.append(f"{failed} times no swap space was found, or permitted, for its group")
    return found


def reasons(snap: Snapshot, info: Info | None) -> list[str]:
    """What the counters say, the plainest first."""
    return [*_settings(snap), *(_group(snap, info) if info else []), *_pool(snap), *_counters(snap)]
