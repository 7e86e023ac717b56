# SPDX-License-Identifier: GPL-2.0
"""The record of real machines: small ones, with a single program."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guest.fakes import processes
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.demo import page, record, view, work
from vswaplab.demo.machines import MACHINES, Machine, spec
from vswaplab.run import demo
from vswaplab.run.demo import Program
from vswaplab.run.follow import run_one

TOP = Path(__file__).parents[2]
MEM = 128 << 20
pytestmark = [pytest.mark.kernel("vswap", "um", "release"), pytest.mark.kernel("mainline", "um", "release")]


def light(workloads: Path) -> Program:
    """swapcheck with as much data as there is memory: a third of it has to go."""
    path = workloads / "swapcheck"

    def script(mem: int) -> str:
        return f"exec {path} --size {mem >> 20}M --ratio 3 --json=$RESULTS/{demo.RESULT}\n"

    return Program("swapcheck", script, demo.swapcheck(path).verdict)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_what_a_machine_recorded(
    machine: Machine, built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path
) -> None:
    guest = spec(machine, built_kernel(machine.kernel, "um", "release"), MEM, "lz4", 900)
    zram = machine.setup == "zram"
    report = run_one(guest, work.program([light(workload_dir)], machine.name, zram), True)
    assert report.failure() is None, report.result.output
    found = record.recorded(machine, report, 90)
    assert (found.result, found.compressor, found.failure) == ("verified", "lz4", None)
    assert [(phase.name, phase.verified) for phase in found.phases] == [("swapcheck", True)]
    assert [step.name for step in found.phases[0].steps] == ["fill", "verify"]
    assert found.phases[0].bytes == MEM
    # The marks are of the same clock as the samples.
    times = found.columns["t"]
    assert times[0] <= found.phases[0].begin and (found.phases[0].end or 0) <= times[-1]
    assert len(times) > 4 * (found.seconds or 0), "several samples a second, also under pressure"
    plots = view.memory(found), view.slots(found), view.rates(found)
    layers = {layer.key: max(layer.values) for plot in plots[:2] for layer in plot.stack}
    held = "zram" if zram else "zswap"
    assert layers[held] > 4000 and layers["compressed"] > 4000, "16 MB of pages, 4 MB of RAM for them"
    assert ("metadata" in layers) == (machine.kernel == "vswap")
    moved = {line.key: max(line.values) for line in plots[2].lines}
    assert set(moved) == set(view.RATES)
    into, out = ("pswpout", "pswpin") if zram else ("zswpout", "zswpin")
    assert moved[into] > 0 and moved[out] > 0 and (zram or moved["pswpin"] == 0)
    assert "verified" in page.page(record.record("um", "release", ["a test"], [found]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_in_a_machine(number: int, temporary: Path, tmp_path: Path) -> None:
    """Neither a machine nor a file is left."""
    target = tmp_path / "out"
    target.mkdir()
    command = [sys.executable, "-m", "vswaplab", "demo", "--mem", "96M"]
    ran = subprocess.Popen(
        [*command, "--html", str(target / "p"), "--json", str(target / "r")], cwd=TOP, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    limit = time.monotonic() + 60
    while not processes(temporary) and ran.poll() is None and time.monotonic() < limit:
        time.sleep(0.1)
    assert processes(temporary), "it has begun"
    time.sleep(1)
    ran.send_signal(number)
    _, said = ran.communicate(timeout=30)
    assert ran.returncode == 128 + number
    assert re.search(r"mainline on mainline was not finished; the kernel's log is ", said)
    assert list(target.iterdir()) == []
    limit = time.monotonic() + 5
    while processes(temporary) and time.monotonic() < limit:
        time.sleep(0.05)
    assert processes(temporary) == []
