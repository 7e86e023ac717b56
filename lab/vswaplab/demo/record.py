# SPDX-License-Identifier: GPL-2.0
"""The record of a demonstration: what every sample of every machine said, in a JSON file."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from vswaplab import paths
from vswaplab.demo.machines import Machine
from vswaplab.demo.work import Phase, Step, phases
from vswaplab.errors import UsageError
from vswaplab.guest import Sample, parse_swap
from vswaplab.run.report import Report

FORMAT = 1
MOST_MACHINES = 6
_KIB = 1024


def _of(group: str, name: str, unit: int = 1) -> Callable[[Sample], int | None]:
    """A counter of a group of the sample; ``unit`` is how many bytes or events are 1."""

    def value(sample: Sample) -> int | None:
        found = (getattr(sample, group) or {}).get(name)
        return None if found is None else found // unit

    return value


# What is kept of a sample, with the unit in the name unless it is pages or events.
COLUMNS: Mapping[str, Callable[[Sample], int | None]] = {
    "free_kib": _of("meminfo", "MemFree", _KIB),
    "available_kib": _of("meminfo", "MemAvailable", _KIB),
    "anonymous_kib": _of("meminfo", "AnonPages", _KIB),
    "shared_kib": _of("meminfo", "Shmem", _KIB),
    "zswap_pool_kib": _of("meminfo", "Zswap", _KIB),
    "zswap_data_kib": _of("meminfo", "Zswapped", _KIB),
    "zram_memory_kib": _of("zram", "memory_bytes", _KIB),
    "zram_data_kib": _of("zram", "data_bytes", _KIB),
    "device_slots": attrgetter("device_slots"),
    "slots_used": _of("vswap", "slots_used"),
    "slots_zero": _of("vswap", "zero"),
    "slots_zswap": _of("vswap", "zswap"),
    "slots_physical": _of("vswap", "physical"),
    "slots_cached": _of("vswap", "cached"),
    "metadata_kib": _of("vswap", "metadata_bytes", _KIB),
    **{name: _of("vmstat", name) for name in ("pswpin", "pswpout", "zswpin", "zswpout", "zswpwb")},
}


@dataclass(frozen=True)
class Recorded:
    """One machine.

    ``columns`` has "t", the samples' times in seconds since boot, and counters of COLUMNS, those the
    kernel has. ``failure`` says what went wrong, None if nothing did. ``pool_percent`` is how much
    of the RAM compressed data may take.
    """

    name: str
    summary: str
    kernel: str
    release: str
    setup: str
    swap: str
    compressor: str
    pool_percent: int
    mem_bytes: int
    mem_total_kib: int
    cpus: int
    result: str
    failure: str | None
    seconds: float | None
    phases: tuple[Phase, ...]
    columns: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Record:
    """A demonstration; ``date`` is UTC, ``work`` says what was done, a line for each program."""

    date: str
    arch: str
    flavour: str
    work: tuple[str, ...]
    machines: tuple[Recorded, ...]


def columns(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """The samples as columns; a counter that any sample lacks is left out."""
    found: dict[str, list[float]] = {"t": [round(sample.t, 3) for sample in samples]}
    for name, value in COLUMNS.items():
        values = [value(sample) for sample in samples]
        if samples and all(one is not None for one in values):
            found[name] = [one for one in values if one is not None]
    return found


def recorded(machine: Machine, report: Report, pool_percent: int) -> Recorded:
    """What came of one guest."""
    spec, result = report.spec, report.result
    failure = report.failure()
    first = result.samples[0].meminfo if result.samples else {}
    used = result.hello.get("compressor" if spec.zswap else "zram_compressor")
    return Recorded(
        name=machine.name,
        summary=machine.summary,
        kernel=spec.kernel.kernel,
        release=str(result.hello.get("release") or ""),
        setup=machine.setup,
        swap=spec.swap,
        compressor=str(used or ""),
        pool_percent=pool_percent,
        mem_bytes=spec.mem_bytes,
        mem_total_kib=first.get("MemTotal", spec.mem_bytes) // _KIB,
        cpus=spec.cpus_used,
        result=report.verdict_text(),
        failure=str(failure) if failure else None,
        seconds=None if result.seconds is None else round(result.seconds, 3),
        phases=tuple(phases(result)),
        columns=columns(result.samples),
    )


def record(arch: str, flavour: str, work: Sequence[str], machines: Sequence[Recorded]) -> Record:
    """The record of what was run just now."""
    return Record(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), arch, flavour, tuple(work), tuple(machines))


def _lines(found: Recorded) -> Iterator[str]:
    """Its JSON, a line for each column."""
    head = asdict(found)
    values = head.pop("columns")
    text = json.dumps(head, ensure_ascii=False)
    yield f'{text[:-1]}, "columns": {{\n'
    yield ",\n".join(f"{json.dumps(name)}: {json.dumps(list(column))}" for name, column in values.items())
    yield "\n}}"


def to_text(found: Record) -> str:
    """The JSON text."""
    head = {"format": FORMAT, "demonstration": "vswap", **asdict(found)}
    del head["machines"]
    text = json.dumps(head, ensure_ascii=False)
    machines = ",\n".join("".join(_lines(one)) for one in found.machines)
    return f'{text[:-1]}, "machines": [\n{machines}\n]}}\n'


def write(path: Path, found: Record) -> None:
    """Write it, whole or not at all."""
    paths.write_output(path, to_text(found).encode())


def _need(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(what)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _columns(found: Mapping[str, Any]) -> dict[str, list[float]]:
    _need(isinstance(found, dict) and "t" in found, "no times of samples")
    unknown = sorted(set(found) - set(COLUMNS) - {"t"})
    _need(not unknown, f"unknown columns: {', '.join(unknown)}")
    for name, column in found.items():
        _need(isinstance(column, list), f"{name} is no list")
        _need(all(_number(one) and one >= 0 for one in column), f"{name} has what is no number")
        _need(len(column) == len(found["t"]), f"{name} has {len(column)} samples, not {len(found['t'])}")
    _need(all(a <= b for a, b in zip(found["t"], found["t"][1:], strict=False)), "time goes backwards")
    return dict(found)


def _phase(found: Mapping[str, Any]) -> Phase:
    phase = Phase(**{**found, "steps": tuple(Step(**step) for step in found["steps"])})
    times = [phase.begin, *([phase.end] if phase.end is not None else [])]
    times += [time for step in phase.steps for time in (step.begin, step.end)]
    _need(all(_number(time) for time in times), f"phase {phase.name} has what is no time")
    return phase


_TEXTS = ("name", "summary", "kernel", "release", "setup", "swap", "compressor", "result")
_NUMBERS = ("pool_percent", "mem_bytes", "mem_total_kib", "cpus")


def _machine(found: Mapping[str, Any]) -> Recorded:
    for name in _TEXTS:
        _need(isinstance(found[name], str), f"{name} is no text")
    for name in _NUMBERS:
        _need(_number(found[name]) and found[name] > 0, f"{name} is no positive number")
    parse_swap(found["swap"])
    _need(found["failure"] is None or isinstance(found["failure"], str), "failure is no text")
    _need(found["seconds"] is None or _number(found["seconds"]), "seconds is no number")
    made = {"phases": tuple(_phase(phase) for phase in found["phases"]), "columns": _columns(found["columns"])}
    return Recorded(**{**found, **made})


def parse(text: str) -> Record:
    """The record of a JSON text. Raises ValueError, KeyError or TypeError for anything else."""
    content = json.loads(text)
    _need(isinstance(content, dict) and content.get("demonstration") == "vswap", "it has another content")
    _need(content["format"] == FORMAT, f"its format is {content['format']}, not {FORMAT}")
    for name in ("date", "arch", "flavour"):
        _need(isinstance(content[name], str), f"{name} is no text")
    work = content["work"]
    _need(isinstance(work, list) and all(isinstance(line, str) for line in work), "work is no list of texts")
    machines = content["machines"]
    _need(1 <= len(machines) <= MOST_MACHINES, f"it has {len(machines)} machines, not 1 to {MOST_MACHINES}")
    return Record(
        content["date"], content["arch"], content["flavour"], tuple(work),
        tuple(_machine(machine) for machine in machines),
    )  # fmt: skip


def read(path: Path) -> Record:
    """The record in a file. Raises UsageError if it is none."""
    try:
        return parse(path.read_text())
    except FileNotFoundError as error:
        raise UsageError(f"there is no {path}") from error
    except KeyError as error:
        raise UsageError(f"{path} is no record of a demonstration: it has no {error}") from error
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is no record of a demonstration: {error}") from error
