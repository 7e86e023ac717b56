# SPDX-License-Identifier: GPL-2.0
"""Tells data races of virtual swap from those of the rest of the kernel, in KCSAN's reports.

Mainline has many races that are known and harmless, and we call what has them: zsmalloc, the block layer. A
report is ours if a function of mm/vswap/ made one of the two accesses, or called what made it (a list's or
an array's function, on data of ours). A stack has no inline functions: what a header of ours reads inside of
a function of mainline is among the others.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEADING = re.compile(r"BUG: KCSAN: (.*)")
_END = re.compile(r"={50,}$")
_NEAR = 2  # functions of a stack that count: the one that accesses, and its caller
_ACCESS = re.compile(r".* to 0x[0-9a-f]+ of \d+ bytes by (task|interrupt)\b")
_FRAME = re.compile(r" ([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+")
# Behind it, in the stack of an interrupt, is what happened to be interrupted.
_ENTRY = re.compile(r"asm_|(?:__)?do_softirq|handle_softirqs")
# It looks at the flags of the task that it runs in, whoever calls it. An interrupt sets PF_BLOCK_TS there.
_ITS_OWN = frozenset({"kthread_associate_blkcg"})
# tests/kernel/test_race_names.py compares it with the sources.
_OURS = re.compile(
    r".*vswap"
    r"|(?:slots_used|slots_max|zero|zswap|physical|cached|refused|metadata_bytes|free_contiguous)_show$|mode_(?:show|store)$"
    r"|swap_(?:is_virtual|put_owner|iocb_entry|slot_flags|frees_early|frees_cached|stable_writes)$|swp_tb_(?:is_rmap|is_spare|only_cached)$"
)


@dataclass(frozen=True)
class Race:
    """A report: what stands behind "BUG: KCSAN: ", and whether it is of virtual swap."""

    title: str
    ours: bool


def is_ours(function: str) -> bool:
    """Whether it is a function of mm/vswap/; the compiler may have added to its name."""
    return _OURS.match(function.partition(".")[0]) is not None


def _functions(report: Sequence[str]) -> list[str]:
    """The innermost ones of both stacks; of an interrupt, not what it interrupted."""
    found = []
    interrupt, left = False, 0
    for line in report:
        if access := _ACCESS.match(line):
            interrupt, left = access[1] == "interrupt", _NEAR
        elif left and (frame := _FRAME.match(line)):
            if interrupt and _ENTRY.match(frame[1]):
                left = 0
                continue
            left = 0 if frame[1] in _ITS_OWN and left == _NEAR else left - 1
            found.append(frame[1])
    return found


def find(lines: Sequence[str]) -> Mapping[int, Race]:
    """The reports in a log, whose lines have no time stamps, by the number of their first line.

    One that has no end is taken for ours.
    """
    races = {}
    for number, line in enumerate(lines):
        if not (heading := HEADING.match(line)):
            continue
        end = next((n for n in range(number + 1, len(lines)) if _END.match(lines[n])), None)
        ours = end is None or any(map(is_ours, _functions(lines[number + 1 : end])))
        races[number] = Race(heading[1].strip(), ours)
    return races
