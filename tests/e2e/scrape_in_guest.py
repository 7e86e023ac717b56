# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: vswapctl export serves metrics, which are asked for over HTTP while memory is reclaimed.

Arguments: vswapctl, and a file of a control group to which "8M" is written between two scrapes. Prints JSON:
of each scrape its text and the files of the kernel before and after it; then how the server ended.
"""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

SCRAPES = 3
FILES = ("/proc/vmstat", "/proc/meminfo", "/proc/swaps")


def files() -> dict[str, str]:
    """What the kernel itself says, by the name of the file."""
    paths = [*map(Path, FILES), *Path("/sys/kernel/mm/vswap").glob("*")]
    return {path.name: path.read_text() for path in paths}


def scrape(address: str) -> dict[str, Any]:
    """One, between two looks at the kernel's files."""
    before = files()
    with urllib.request.urlopen(address, timeout=60) as answer:
        kind, text = answer.headers["Content-Type"], answer.read().decode()
    return {"type": kind, "text": text, "before": before, "after": files()}


def main(program: str, reclaim: str) -> None:
    """Start the server, scrape, interrupt it."""
    command = [sys.executable, program, "export", "--listen", "127.0.0.1:0", "--groups", "5"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        match = re.match(r"(http://127\.0\.0\.1:\d+/metrics); Ctrl-C ends it", server.stderr.readline())
        assert match
        scrapes = []
        for _ in range(SCRAPES):
            scrapes.append(scrape(match[1]))
            with suppress(BlockingIOError):  # less than that was reclaimed
                Path(reclaim).write_text("8M")
        server.send_signal(signal.SIGINT)
        code = server.wait(60)
        json.dump({"scrapes": scrapes, "code": code, "err": server.stderr.read()}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
