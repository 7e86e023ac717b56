# SPDX-License-Identifier: GPL-2.0
"""What a machine does: the demonstration's programs one after the other, and when each did what."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vswaplab.bench.script import ZRAM_LIMIT
from vswaplab.bench.setup import ROOMY
from vswaplab.guest import GuestResult
from vswaplab.guest.samples import working_set
from vswaplab.run.demo import RESULT, Program, answer
from vswaplab.run.report import Verdict

PAUSE = 1  # seconds between two programs: what the first held is freed

_HEAD = """
fail() { echo "$*" >&2; exit 1; }
mark() { echo "phase $1 $2 $(cut -d' ' -f1 /proc/uptime) $3"; }
bad=0
"""
_PROGRAM = """
mark begin {title} 0
(
{script})
code=$?
mark end {title} $code
[ $code = 0 ] || bad=1
[ ! -e $RESULTS/{result} ] || mv $RESULTS/{result} $RESULTS/{title}.json
sleep {pause}
"""
_MARK = re.compile(r"^phase (begin|end) (\S+) ([\d.]+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A part of a phase; times in seconds since the guest's boot, from the program's own account."""

    name: str
    begin: float
    end: float


@dataclass(frozen=True)
class Phase:
    """One program; times in seconds since the guest's boot, ``end`` and ``exit_code`` None if it did not end."""

    name: str
    begin: float
    end: float | None = None
    exit_code: int | None = None
    bytes: int | None = None
    verified: bool = False
    steps: tuple[Step, ...] = ()


def script(programs: Sequence[Program], mem_bytes: int, zram: bool) -> str:
    """Shell text for all programs; it fails if one does. ``zram``: limit zram's memory as zswap's pool is."""
    parts = [_HEAD, ZRAM_LIMIT.format(percent=ROOMY) if zram else ""]
    parts += [
        _PROGRAM.format(title=program.title, script=program.script(mem_bytes), result=RESULT, pause=PAUSE)
        for program in programs
    ]
    return "".join([*parts, "exit $bad\n"])


def _steps(said: Mapping[str, Any], begin: float, end: float) -> tuple[Step, ...]:
    """From what swapcheck or the Redis client says of its times; nothing if it says nothing."""
    modes = said.get("modes")
    if modes:
        seconds = modes[0]["seconds"]
        return (
            Step("fill", begin, min(end, begin + seconds["fill"])),
            Step("verify", max(begin, end - seconds["verify"]), end),
        )
    if "load_seconds" in said and "check_seconds" in said:
        turn = max(begin, end - said["check_seconds"])
        return Step("load", max(begin, turn - said["load_seconds"]), turn), Step("read back", turn, end)
    return ()


def phases(result: GuestResult) -> list[Phase]:
    """What the guest's output and result files say, in order."""
    found: dict[str, Phase] = {}
    for kind, name, time, code in _MARK.findall(result.stdout):
        if kind == "begin":
            found[name] = Phase(name, float(time))
        elif name in found:
            said, begin = answer(result, f"{name}.json"), found[name].begin
            verified = said.get("verified") is True and code == "0"
            size = said.get("bytes")
            found[name] = Phase(
                name, begin, float(time), int(code), size if isinstance(size, int) else None, verified,
                _steps(said, begin, float(time)),
            )  # fmt: skip
    return list(found.values())


def program(programs: Sequence[Program], name: str, zram: bool) -> Program:
    """All of them as one program, called ``name``: verified if each of them is."""

    def verdict(result: GuestResult) -> Verdict:
        done = phases(result)
        verified = len(done) == len(programs) and all(phase.verified for phase in done)
        size = max((phase.bytes or 0 for phase in done), default=0) if verified else working_set(result.samples)
        return Verdict(size, verified)

    return Program(name, lambda mem_bytes: script(programs, mem_bytes, zram), verdict)
