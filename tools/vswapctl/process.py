# SPDX-License-Identifier: GPL-2.0
"""One process: how much of it is swapped out, and what its page tables say."""

import re
from array import array
from typing import NamedTuple

from vswapctl.errors import CannotRead, UsageError
from vswapctl.kernel import Kernel, as_number
from vswapctl.units import PAGE

PRESENT, SWAPPED, SHARED = 1 << 63, 1 << 62, 1 << 61
TYPE_MASK = 31
FIRST_SPECIAL = 24  # from here on, types are for pages that are migrated, poisoned, and the like
# Page tables are read for so much address space at most: 64 GB take some seconds.
MOST_PAGES = 16 << 20
STEP = 1 << 16


class Process(NamedTuple):
    """Sizes in bytes, None where that needs root."""

    pid: int
    name: str
    rss: int
    swapped: int
    shared_swapped: int | None
    proportional: int | None
    kernel_thread: bool


class Entries(NamedTuple):
    """Entries of page tables; ``types`` are pages by swap type, None where that needs root.

    ``complete`` is False if there was too much address space to look at.
    """

    swapped: int
    types: dict[int, int] | None
    complete: bool


def hidden(kernel: Kernel) -> bool:
    """Whether processes of others cannot be looked at: /proc is mounted with hidepid, and we are not root."""
    mounts = (line.split() for line in kernel.lines("/proc/self/mounts"))
    options = [words[3].split(",") for words in mounts if words[1:3] == ["/proc", "proc"] and len(words) > 3]
    set_to = [option for option in (options[-1] if options else []) if option.startswith("hidepid=")]
    return bool(set_to) and set_to[-1] not in ("hidepid=0", "hidepid=off") and not kernel.word("/proc/1/comm")


def read(kernel: Kernel, pid: int) -> Process:
    """What /proc/PID/status and smaps_rollup say."""
    if not kernel.exists(f"/proc/{pid}") and hidden(kernel):
        raise CannotRead(f"no process {pid} that you may see (/proc has hidepid): sudo vswapctl why {pid}")
    if not kernel.exists(f"/proc/{pid}"):
        raise UsageError(f"no process {pid}: ps -e lists them")
    lines = kernel.text(f"/proc/{pid}/status")
    if lines is None:
        raise CannotRead(f"cannot read /proc/{pid}/status: it has ended, or that needs root")
    status = kernel.table(f"/proc/{pid}/status")
    name = re.search(r"^Name:\s*(.*)$", lines, re.MULTILINE)
    rollup = kernel.table(f"/proc/{pid}/smaps_rollup")
    return Process(
        pid,
        name[1] if name else "?",
        status.get("VmRSS", 0),
        status.get("VmSwap", 0),
        rollup.get("Swap"),
        rollup.get("SwapPss"),
        "VmSize" not in status,
    )


def _ranges(kernel: Kernel, pid: int) -> list[tuple[int, int]]:
    """First and last page of each mapping of which something is swapped out."""
    found: list[tuple[int, int]] = []
    area = (0, 0)
    for line in kernel.lines(f"/proc/{pid}/smaps"):
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if match:
            area = int(match[1], 16) // PAGE, int(match[2], 16) // PAGE
        elif line.startswith("Swap:") and as_number(line.removeprefix("Swap:").removesuffix("kB")):
            found.append(area)
    return found


def entries(kernel: Kernel, pid: int) -> Entries | None:
    """Count swap entries; None if the page tables may not be read.

    Types are shown to root only: anybody else sees 0 in their place, as well as in the offset's.
    """
    if kernel.chunk(f"/proc/{pid}/pagemap", 0, 0) is None:
        return None
    swapped, budget, complete = 0, MOST_PAGES, True
    types: dict[int, int] = {}
    hidden = True
    for first, last in _ranges(kernel, pid):
        for start in range(first, last, STEP):
            count = min(STEP, last - start)
            budget -= count
            if budget < 0:
                complete = False
                break
            data = kernel.chunk(f"/proc/{pid}/pagemap", start * 8, count * 8) or b""
            for entry in array("Q", data[: len(data) // 8 * 8]):
                if entry & SWAPPED and not entry & PRESENT:
                    swapped += 1
                    hidden = hidden and not entry & ((1 << 55) - 1)
                    kind = entry & TYPE_MASK
                    types[kind] = types.get(kind, 0) + 1
    return Entries(swapped, None if hidden and swapped else types, complete)
