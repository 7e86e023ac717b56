# SPDX-License-Identifier: GPL-2.0
"""What came of a guest: figures, or the reason why there are none."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from vswaplab.bench import counters
from vswaplab.bench.suite import Suite, Unverified
from vswaplab.guest import GuestResult

Status = Literal["ok", "oom", "failed", "panic", "timeout", "lost"]


@dataclass(frozen=True)
class Outcome:
    """What a guest gave: figures by metric, or the reason why there are none."""

    status: Status
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    wall_seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """For the record of finished rounds."""
        return asdict(self)


def _failure(result: GuestResult) -> tuple[Status, str] | None:
    """What is wrong with a guest, whatever its workload says; None if nothing is."""
    if result.status == "panic":
        return "panic", next((text for text in result.splats if "panic" in text), "Kernel panic")
    if result.status == "timeout":
        return "timeout", "not finished in time"
    if result.status != "ok":
        return ("failed" if result.status == "refused" else "lost"), result.error or "the machine was lost"
    if result.splats:
        return "failed", f"the kernel says: {result.splats[0]}"
    return None


def _out_of_memory(result: GuestResult) -> bool:
    return bool(result.oom_kills) or "Out of memory and no killable" in result.console


def _last_words(result: GuestResult) -> str:
    """What the script says that failed, and the last line of what the program said."""
    said = result.files.get("failed", "").strip()
    last = next((line.strip() for line in reversed(result.stderr.splitlines()) if line.strip()), "")
    return ": ".join(filter(None, (said, last))) or f"exit code {result.exit_code}"


def _figures(suite: Suite, result: GuestResult) -> dict[str, float]:
    """The suite's figures, all of them and each a number. Raises Unverified."""
    try:
        values = suite.parse(result.files)
        found = {metric.name: float(values[metric.name]) for metric in suite.metrics}
    except (KeyError, ValueError, TypeError) as error:
        raise Unverified(f"the result cannot be read: {type(error).__name__}: {error}") from error
    if bad := [name for name, value in found.items() if not math.isfinite(value)]:
        raise Unverified(f"{bad[0]} is not a number")
    return found


def of(suite: Suite, result: GuestResult) -> Outcome:
    """Judge a guest that has ended. An OOM kill is a result also when the rest went well."""
    grown = counters.grown(result.files)
    wall = round(result.wall_seconds, 3)
    if failure := _failure(result):
        return Outcome(*failure, {}, grown, wall)
    if _out_of_memory(result):
        return Outcome("oom", f"killed: {', '.join(result.oom_kills) or 'nothing'}", {}, grown, wall)
    if "failed" in result.files or result.exit_code != 0:
        return Outcome("failed", _last_words(result), {}, grown, wall)
    try:
        return Outcome("ok", "", _figures(suite, result), grown, wall)
    except Unverified as error:
        return Outcome("failed", str(error), {}, grown, wall)
