# SPDX-License-Identifier: GPL-2.0
"""A group is disturbed by its worst neighbour no more than on mainline with a swap file.

Instructions are the clock, so one round says it. Limits that do not hold, and wrong data, fail the round.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from vswaplab.bench import check, round
from vswaplab.bench.case import Case, Options
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import boot
from vswaplab.guestprograms.isolation import KINDS
from vswaplab.stress.isolation import Beside

pytestmark = [
    pytest.mark.long,
    pytest.mark.kernel("vswap", "x86_64", "release"),
    pytest.mark.kernel("mainline", "x86_64", "release"),
]


@pytest.mark.parametrize("setup", ["zswap", "zswap-disk"])
def test_neighbours_take_no_more_than_on_mainline(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path, setup: str
) -> None:
    found = {}
    for name in ("mainline", "vswap"):
        kernel = check.trial(built_kernel(name, "x86_64", "release"), boot)
        options = Options(limit=96 << 20, cpus=1, arch="x86_64")
        outcome = round.run(Case("isolation", setup, "none", page_cluster=0), kernel, options, workload_dir, boot)
        assert outcome.status == "ok", f"{name}: {outcome.reason}"
        found[name] = outcome.metrics
    worse = []
    for kind in KINDS:
        theirs, ours = (
            (found[name][f"touches, neighbour: {kind}"], found[name][f"p99, neighbour: {kind}"])
            for name in ("mainline", "vswap")
        )
        beside = Beside(setup, kind, theirs, ours)
        worse += [] if beside.good else [beside]
    assert not worse, (worse, found)
