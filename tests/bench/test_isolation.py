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
from vswaplab.stress.isolation import FIGURES, Beside, Figures

TOUCHES = "touches, neighbour: "

pytestmark = [
    pytest.mark.long,
    pytest.mark.kernel("vswap", "x86_64", "release"),
    pytest.mark.kernel("mainline", "x86_64", "release"),
]


@pytest.mark.parametrize(
    ("suite", "setup"), [("isolation", "zswap"), ("isolation", "zswap-disk"), ("isolation-full", "zswap-disk")]
)
def test_neighbours_take_no_more_than_on_mainline(
    built_kernel: Callable[[str, str, str], BuiltKernel], workload_dir: Path, suite: str, setup: str
) -> None:
    found = {}
    for name in ("mainline", "vswap"):
        kernel = check.trial(built_kernel(name, "x86_64", "release"), boot)
        options = Options(limit=96 << 20, cpus=1, arch="x86_64")
        outcome = round.run(Case(suite, setup, "none", page_cluster=0), kernel, options, workload_dir, boot)
        assert outcome.status == "ok", f"{name}: {outcome.reason}"
        found[name] = outcome.metrics
    worse = []
    for kind in (name.removeprefix(TOUCHES) for name in found["vswap"] if name.startswith(TOUCHES)):

        def of(name: str, kind: str = kind) -> Figures:
            touches, slowest, p99 = (found[name][f"{figure}, neighbour: {kind}"] for figure in FIGURES)
            return touches, slowest, p99

        beside = Beside(setup, kind, of("mainline"), of("vswap"))
        worse += [] if beside.good else [beside]
    assert not worse, (worse, found)
