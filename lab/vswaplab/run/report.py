# SPDX-License-Identifier: GPL-2.0
"""What one run came to: as JSON, as a column of a table, as an exit code."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from vswaplab.errors import GuestLost, GuestTimeout, VswapError, WorkloadError
from vswaplab.guest import Counters, GuestResult, GuestSpec
from vswaplab.guest.samples import grown, working_set
from vswaplab.units import format_seconds, format_size

_SWAPPED_IN = ("pswpin", "zswpin", "swpin_zero")
_SWAPPED_OUT = ("pswpout", "zswpout", "swpout_zero")
_NOTHING = "-"
_KILLED = 128 + 9  # exit code of what the OOM killer ends


@dataclass(frozen=True)
class Verdict:
    """What the workload says of itself; ``bytes`` is its data. ``verified`` is None if it verifies nothing."""

    bytes: int
    verified: bool | None


def own_verdict(result: GuestResult) -> Verdict:
    """Any program: its data is what the memory counters show, and all it says is its exit code."""
    return Verdict(working_set(result.samples), None)


def checked_verdict(result: GuestResult) -> Verdict:
    """A program that verifies its data, and ends with exit code 0 if that is right."""
    return Verdict(working_set(result.samples), result.exit_code == 0)


def _without_a_word(result: GuestResult) -> str:
    """About a machine that ended, or was ended, before it said how its workload did."""
    if result.hello:
        return "the machine ended without a word"
    lines = [line.strip() for line in result.console.splitlines() if line.strip()]
    return f"the kernel did not come up; its last line: {lines[-1] if lines else 'none'}"


@dataclass(frozen=True)
class Report:
    """One workload on one machine; ``console`` is the file with the kernel's log."""

    title: str
    spec: GuestSpec
    result: GuestResult
    verdict: Verdict
    console: Path | None = None

    @property
    def good(self) -> bool:
        """The workload succeeded (and verified, if it does) and the kernel complained about nothing."""
        return self.failure() is None

    @property
    def out_of_memory(self) -> bool:
        """The workload was killed, or the machine gave up, for lack of memory."""
        return bool(self.result.oom_kills) or "Out of memory and no killable" in self.result.console

    def failure(self) -> VswapError | None:
        """What is wrong with this run, as the error to end with; None if nothing is."""
        result, where = self.result, f"{self.title} on {self.spec.kernel.name}"
        if result.status == "timeout":
            limit = format_seconds(self.spec.timeout)
            return GuestTimeout(f"{where}: not finished after {limit}; --timeout sets the limit (none: no limit)")
        if result.status == "panic":
            panic = next((text for text in result.splats if text.startswith("Kernel panic")), "Kernel panic")
            return GuestLost(f"{where}: {panic}")
        if result.status != "ok":
            return GuestLost(f"{where}: {result.error or _without_a_word(result)}")
        if result.splats:
            more = f" (and {len(result.splats) - 1} more)" if len(result.splats) > 1 else ""
            return WorkloadError(f"{where}: the kernel says: {result.splats[0]}{more}")
        killed = f"killed for lack of memory ({', '.join(result.oom_kills)})"
        if self.out_of_memory and self.verdict.verified is False:
            return WorkloadError(f"{where}: {killed}")
        if result.exit_code != 0:
            also = f"; {killed}" if self.out_of_memory else ""
            return WorkloadError(f"{where}: the workload failed with exit code {result.exit_code}{also}")
        if self.verdict.verified is False:
            return WorkloadError(f"{where}: the data did not verify")
        return None

    def verdict_text(self) -> str:
        """The last line of the table."""
        if self.good:
            return "verified" if self.verdict.verified else "exit 0"
        if self.result.status in ("timeout", "panic", "lost"):
            return {"timeout": "timed out", "panic": "kernel panic", "lost": "machine lost"}[self.result.status]
        if self.result.splats:
            return "kernel splat"
        if self.out_of_memory and (self.verdict.verified is False or self.result.exit_code == _KILLED):
            return "out of memory"
        return "NOT verified" if self.verdict.verified is False else f"exit {self.result.exit_code}"


def to_json(report: Report) -> dict[str, Any]:
    """The report's JSON form. The first eleven keys are a promise; the rest is more of the same."""
    spec, result = report.spec, report.result
    return {
        "kernel": spec.kernel.kernel,
        "arch": spec.kernel.arch,
        "mem_bytes": spec.mem_bytes,
        "workload": {
            "bytes": report.verdict.bytes,
            "verified": report.verdict.verified,
            "exit_code": result.exit_code,
            "seconds": result.seconds,
        },
        "peak": asdict(result.peak),
        "end": asdict(result.end),
        "device_slots_peak": result.device_slots_peak,
        "swapoff_seconds": result.swapoff_seconds,
        "splats": result.splats,
        "status": result.status,
        "result": report.verdict_text(),
        "title": report.title,
        "flavour": spec.kernel.flavour,
        "cpus": spec.cpus_used,
        "swap": spec.swap,
        "zswap": spec.zswap,
        "compressor": result.hello.get("compressor"),
        "pool_percent": pool_percent(report),
        "mode": result.hello.get("mode"),
        "stored_bytes_peak": stored_peak(result),
        "ratio": ratio_at_peak(result),
        "swapped_in": sum(grown(result.samples, name) for name in _SWAPPED_IN),
        "swapped_out": sum(grown(result.samples, name) for name in _SWAPPED_OUT),
        "oom_kills": result.oom_kills,
        "other_races": result.other_races,
        "verify_violations": result.verify_violations,
        "swapoff_error": result.swapoff_error,
        "wall_seconds": round(result.wall_seconds, 3),
        "cgroup": spec.cgroup,
        "scratch_bytes": spec.scratch,
        "console": str(report.console) if report.console else None,
    }


def pool_percent(report: Report) -> int | None:
    """How much of the machine's RAM zswap's pool may take, in percent; None without zswap or if not known."""
    if not report.spec.zswap:
        return None
    said = str(report.result.hello.get("pool_percent") or "")
    return int(said) if said.isdigit() else report.spec.pool_percent


def stored_peak(result: GuestResult) -> int:
    """Bytes: the most memory that compressed data took."""
    return max((sample.stored_bytes for sample in result.samples), default=0)


def ratio_at_peak(result: GuestResult) -> float | None:
    """The compression ratio when compressed data was largest."""
    largest = max(result.samples, key=lambda sample: sample.stored_bytes, default=None)
    return round(largest.ratio, 3) if largest and largest.ratio else None


def _per_slot(counters: Counters) -> str:
    # With few slots the fixed part hides what a slot costs.
    if not counters.metadata_bytes or counters.slots_used < 1000:
        return _NOTHING
    return f"{counters.metadata_bytes / counters.slots_used:.1f} B"


def _rows(report: Report) -> list[tuple[str, str]]:
    spec, result = report.spec, report.result
    peak, ratio, pool = result.peak, ratio_at_peak(result), pool_percent(report)
    swapped_in = sum(grown(result.samples, name) for name in _SWAPPED_IN)
    swapped_out = sum(grown(result.samples, name) for name in _SWAPPED_OUT)
    return [
        ("memory given", format_size(spec.mem_bytes)),
        ("swap device", spec.swap),
        ("pool limit", f"{pool} %" if pool else _NOTHING),
        ("working set", format_size(report.verdict.bytes)),
        ("compressed to", format_size(stored_peak(result))),
        ("ratio", f"{ratio:.2f}" if ratio else _NOTHING),
        ("slots in use", f"{peak.slots_used:,}"),
        ("  zero", f"{peak.zero:,}"),
        ("  zswap", f"{peak.zswap:,}"),
        ("  physical", f"{peak.physical:,}"),
        ("device slots", f"{result.device_slots_peak:,}"),
        ("metadata", format_size(peak.metadata_bytes) if peak.metadata_bytes else _NOTHING),
        ("  per slot", _per_slot(peak)),
        ("swapped out", f"{swapped_out:,}"),
        ("swapped in", f"{swapped_in:,}"),
        ("slots at end", f"{result.end.slots_used:,}"),
        ("swapoff", format_seconds(result.swapoff_seconds) if result.swapoff_seconds is not None else _NOTHING),
        ("time", format_seconds(result.seconds) if result.seconds is not None else _NOTHING),
        ("result", report.verdict_text()),
    ]


def table(reports: Sequence[Report]) -> Table:
    """All runs side by side, one column each; figures in use are those of the fullest moment."""
    drawn = Table(title=None, show_lines=False)
    drawn.add_column("")
    for report in reports:
        drawn.add_column(f"{report.title}\n{report.spec.kernel.kernel}", justify="right", overflow="fold")
    columns = [_rows(report) for report in reports]
    for cells in zip(*columns, strict=True):
        name = cells[0][0]
        style = "bold" if name == "result" else None
        drawn.add_row(name, *(_coloured(name, value) for _, value in cells), style=style)
    return drawn


def sentence(report: Report) -> str:
    """The outcome in words."""
    where = f"{report.title} on {report.spec.kernel.kernel}"
    memory = format_size(report.spec.mem_bytes)
    if report.good and report.verdict.verified is None:
        return f"{where}: {report.verdict_text()}"
    if report.good:
        return f"{where}: {format_size(report.verdict.bytes)} of data verified in a machine of {memory}"
    if report.result.status == "ok" and report.out_of_memory:
        after = f" after {format_seconds(report.result.seconds)}" if report.result.seconds else ""
        return f"{where}: {', '.join(report.result.oom_kills)} killed for lack of memory{after}"
    return str(report.failure())


def _coloured(name: str, value: str) -> str:
    if name != "result":
        return value
    return f"[green]{value}[/green]" if value in ("verified", "exit 0") else f"[red]{value}[/red]"
