# SPDX-License-Identifier: GPL-2.0
"""What only User-Mode Linux has: a process of the host behind each process of the guest."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.common import Boot, number

BUSY = """
python3 -c 'while True: pass' & pid=$!
sleep 2; echo now
i=0; while kill -0 $pid 2>/dev/null && [ $i -lt 150 ]; do sleep 0.2; i=$((i+1)); done
wait $pid; echo $? > $RESULTS/code; python3 -c 'print(1)' > $RESULTS/alive
"""


def descendants(pid: int) -> Iterator[tuple[int, str, int]]:
    """The id, the name and the ticks in user mode of each process below ``pid``."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            name, _, fields = (directory / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:  # it has just ended
            continue
        if int(fields.split()[1]) == pid:
            yield int(directory.name), name, int(fields.split()[11])
            yield from descendants(int(directory.name))


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize("cpus", [1, 2])
def test_a_process_whose_stub_is_killed_dies(boot_guest: Boot, pytestconfig: pytest.Config, cpus: int) -> None:
    """The host may kill it for lack of memory. The exit must not wait for its own task to leave user mode."""
    if pytestconfig.getoption("--on") and pytestconfig.getoption("--on")[0] != "um":
        pytest.skip("other guests have no stubs")
    killed: list[tuple[int, int]] = []

    def kill(_stream: str, text: bytes) -> None:
        if b"now" in text and not killed:
            stubs = [(ticks, pid) for pid, name, ticks in descendants(os.getpid()) if "uml-userspace" in name]
            os.kill(max(stubs)[1], signal.SIGKILL)
            killed.append(max(stubs))

    result = boot_guest(BUSY, flavour="release", cpus=cpus, timeout=60.0, on_output=kill)
    assert killed and killed[0][0] > 50, "this was not the stub of the busy process"
    assert number(result, "code") == 128 + 11 and number(result, "alive") == 1, result.console[-600:]
