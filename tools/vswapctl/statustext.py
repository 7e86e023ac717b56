# SPDX-License-Identifier: GPL-2.0
"""A snapshot as text for people."""

from vswapctl import rates
from vswapctl.snapshot import ENTRY_BYTES, HANDLE_BYTES, Snapshot
from vswapctl.units import PAGE, pages, percent, printable, size

NO_VSWAP = "not in this kernel (CONFIG_VSWAP); what it offers:"

OFF_AT_BOOT = "off by the boot parameter vswap.max_gb=0"


def _line(name: str, value: str, more: str = "") -> str:
    return f"{name:<20} {value:>10}  {more}".rstrip()


def _wide(name: str, value: str) -> str:
    return f"{name:<28} {value:>12}"


def head(snap: Snapshot) -> list[str]:
    """What is on: virtual swap and its mode, zswap and its compressor."""
    missing = OFF_AT_BOOT if snap.off_at_boot else NO_VSWAP
    mode = missing if snap.slots is None else f"mode {snap.slots.mode or 'unknown'}"
    zswap = "not in this kernel"
    if snap.zswap:
        zswap = f"on, {snap.zswap.compressor}" if snap.zswap.enabled else "off"
        zswap += ", writes back under pressure" if snap.zswap.shrinker and snap.zswap.enabled else ""
    return [f"virtual swap: {printable(mode)}", f"zswap: {printable(zswap)}"]


def memory(snap: Snapshot) -> list[str]:
    """RAM."""
    share = percent(snap.available, snap.total)
    return [_line("memory", size(snap.total)), _line("  available", size(snap.available), share)]


def slots(snap: Snapshot) -> list[str]:
    """Virtual slots by backing."""
    found = snap.slots
    if found is None:
        return []
    shares = (("zero", found.zero, "nothing stored"), ("zswap", found.zswap, ""), ("device", found.device, ""),
              ("cached", found.cached, "in memory only"))  # fmt: skip
    lines = [_line("virtual slots", pages(found.used), f"of {pages(found.max)}")]
    for name, count, more in shares:
        lines.append(_line(f"  {name}", pages(count), f"{percent(count, found.used):>5}  {more}"))
    lines.append(_line("    of it refused", pages(found.refused), "       does not compress, and no device"))
    return lines


def compression(snap: Snapshot) -> list[str]:
    """What zswap holds, what that costs and what is gained."""
    zswap = snap.zswap
    if zswap is None:
        return []
    ratio = f"ratio {zswap.ratio:.2f}" if zswap.ratio else ""
    limit = f"{percent(zswap.pool, zswap.limit)} of the limit, {size(zswap.limit)} ({zswap.max_percent} % of RAM)"
    direct = HANDLE_BYTES + ENTRY_BYTES
    each_page = f"{HANDLE_BYTES} (direct: {direct})" if snap.slots else str(direct)
    lines = [
        _line("in zswap", size(zswap.stored), ratio),
        _line("  pool", size(zswap.pool), limit),
        _line("  entries", size(zswap.entries), f"computed: {each_page} bytes a page"),
    ]
    if snap.incompressible is not None:
        lines.append(_line("  incompressible", size(snap.incompressible), "stored as it is"))
    if snap.slots:
        metadata = snap.slots.metadata
        each = f"{metadata / snap.slots.used:.1f} bytes a slot" if metadata and snap.slots.used else ""
        lines.append(_line("  tables", size(metadata), each))
    after = "pool, entries and tables" if snap.slots else "pool, entries; devices' tables not known"
    lines.append(_line("RAM gained", size(snap.gained), f"after {after}"))
    return lines


def devices(snap: Snapshot, denied: list[str]) -> list[str]:
    """Swap devices and zram disks."""
    lines = [] if snap.devices else ["swap devices: none"]
    if snap.devices:
        lines = [f"{'device':<28} {'size':>10} {'used':>10} {'free':>10} {'priority':>8}"]
        lines += [
            f"{printable(dev.name):<28} {size(dev.size):>10} {size(dev.used):>10} {size(dev.free):>10}"
            f" {dev.priority:>8}"
            for dev in snap.devices
        ]
    if snap.fragmented is not None:
        lines.append(f"free space between used slots: {snap.fragmented * 100:.0f} %")
    elif any(name.endswith("/free_contiguous") for name in denied):
        lines.append("free space between used slots: needs root")
    for disk in snap.zram:
        ratio = f", ratio {disk.ratio:.2f}" if disk.ratio is not None else ""
        lines.append(f"{printable(disk.name)}: {size(disk.data)} in {size(disk.memory)} of RAM{ratio}")
    return lines


def events(snap: Snapshot, measured: dict[str, float] | None) -> list[str]:
    """Rates if they were measured, totals since boot otherwise."""
    if measured is None:
        counts, met = rates.known(snap.vmstat), rates.attempts(snap.vmstat)
        if not counts:
            return []
        lines = [_wide(f"  {rates.EVENTS[name]}", pages(count)) for name, count in counts.items() if count]
        lines += [_wide(f"  {rates.ATTEMPTS[name]}", f"{count} attempts") for name, count in met.items() if count]
        return ["since boot (--interval SECONDS measures rates):", *(lines or ["  nothing was swapped"])]
    lines = [
        _wide(f"  {rates.EVENTS[name]}", size(rate * PAGE) + "/s")
        if name in rates.EVENTS
        else _wide(f"  {rates.ATTEMPTS[name]}", f"{rate:.1f} attempts/s")
        for name, rate in measured.items()
    ]
    return ["rates:", *lines]


def counters(snap: Snapshot, denied: list[str]) -> list[str]:
    """zswap's counters of debugfs, or why they are not shown."""
    if snap.debug is not None:
        shown = [f"{name} {count}" for name, count in snap.debug.items() if count]
        return ["zswap counters: " + (", ".join(shown) or "all 0")]
    if any(name.startswith("/sys/kernel/debug") for name in denied):
        return ["zswap counters (debugfs): needs root"]
    return []


def whole(snap: Snapshot, denied: list[str], measured: dict[str, float] | None) -> str:
    """All of it; blocks are separated by empty lines."""
    blocks = [
        head(snap), memory(snap), slots(snap), compression(snap), devices(snap, denied), events(snap, measured),
        counters(snap, denied),
    ]  # fmt: skip
    return "\n\n".join("\n".join(block) for block in blocks if block)
