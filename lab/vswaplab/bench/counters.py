# SPDX-License-Identifier: GPL-2.0
"""What the kernel counted during a round: the figures that explain a result."""

from collections.abc import Mapping

# Name in the report -> names in /proc/vmstat, added up; a trailing * is any ending.
EVENTS = {
    "allocstall": ("allocstall*",),
    "pgsteal_kswapd": ("pgsteal_kswapd",),
    "pgsteal_direct": ("pgsteal_direct",),
    "pgscan_kswapd": ("pgscan_kswapd",),
    "pgscan_direct": ("pgscan_direct",),
    "pgmajfault": ("pgmajfault",),
    "workingset_refault_anon": ("workingset_refault_anon",),
    "swap_ra": ("swap_ra",),
    "swap_ra_hit": ("swap_ra_hit",),
    "zswpout": ("zswpout",),
    "zswpin": ("zswpin",),
    "zswpwb": ("zswpwb",),
    "pswpout": ("pswpout",),
    "pswpin": ("pswpin",),
    "swpout_zero": ("swpout_zero",),
    "swpin_zero": ("swpin_zero",),
    "thp_swpout": ("thp_swpout",),
    "thp_swpout_fallback": ("thp_swpout_fallback",),
    "pgmigrate_success": ("pgmigrate_success",),
    "compact_stall": ("compact_stall",),
    "oom_kill": ("oom_kill",),
}
PSI = {"psi_some_us": "some", "psi_full_us": "full"}
_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq")
TICKS = 100  # per second, in /proc/stat


def _matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _read(text: str) -> dict[str, float]:
    """One set of counters as the prelude's counters() writes it."""
    values: dict[str, float] = {}
    for line in text.splitlines():
        kind, *words = line.split()
        if kind == "vmstat" and len(words) == 2:
            values[words[0]] = float(words[1])
        elif kind == "psi" and words:
            values[f"psi {words[0]}"] = float(words[-1].removeprefix("total="))
        elif kind == "stat":
            values |= {f"cpu {name}": float(value) for name, value in zip(_CPU, words[1:], strict=False)}
    return values


def grown(files: Mapping[str, str]) -> dict[str, float]:
    """By how much each counter grew between "before" and "after"; those the kernel does not have are left out.

    Events are counts, psi_* microseconds, cpu_system_s the seconds that all CPUs spent in the kernel.
    """
    before, after = (_read(files.get(name, "")) for name in ("before", "after"))
    delta = {name: value - before[name] for name, value in after.items() if name in before}
    found = {}
    for label, patterns in EVENTS.items():
        names = [name for name in delta if any(_matches(pattern, name) for pattern in patterns)]
        if names:
            found[label] = sum(delta[name] for name in names)
    found |= {label: delta[f"psi {kind}"] for label, kind in PSI.items() if f"psi {kind}" in delta}
    if "cpu system" in delta:
        ticks = sum(delta.get(f"cpu {name}", 0) for name in ("system", "irq", "softirq"))
        found["cpu_system_s"] = ticks / TICKS
    return found
