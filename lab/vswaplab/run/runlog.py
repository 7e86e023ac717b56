# SPDX-License-Identifier: GPL-2.0
"""The kernels' logs of runs: a file for each, the newest kept."""

import itertools
import re
import time
from pathlib import Path

from vswaplab import paths

KEEP = 20  # logs
_PREFIX = "console-"


def directory() -> Path:
    """Where they are."""
    return paths.cache_dir() / "log"


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except FileNotFoundError:  # another run was faster
        return 0.0


def new(kernel: str, title: str, now: float | None = None) -> Path:
    """An empty file for the log of a run that begins; of all logs the newest KEEP are left.

    ``kernel`` and ``title`` become part of the name, ``now`` is in seconds since the epoch. Raises OSError.
    """
    where = directory()
    where.mkdir(parents=True, exist_ok=True)
    words = re.sub(r"[^\w.+-]", "_", f"{kernel}-{title}")[:100]
    start = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    for number in itertools.count(1):
        path = where / f"{_PREFIX}{words}-{start}{f'-{number}' if number > 1 else ''}.log"
        try:
            path.open("x").close()
        except FileExistsError:
            continue
        break
    for old in sorted(where.glob(f"{_PREFIX}*.log"), key=_age)[KEEP:]:
        if old != path:
            old.unlink(missing_ok=True)
    return path
