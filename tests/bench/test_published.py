# SPDX-License-Identifier: GPL-2.0
"""What others have published: in the suites' units, and only where it is the same work."""

from dataclasses import replace

import pytest

from vswaplab.bench import selection, setup, suites
from vswaplab.bench.case import Case
from vswaplab.bench.published import Posting
from vswaplab.bench.selection import Selection

GLOBAL = Case("", "zram", "global", page_cluster=0)


def test_every_posting_is_of_its_suite() -> None:
    """A metric that exists, and cases that can run; so every figure is shown somewhere."""
    for suite in suites.SUITES:
        cases = selection.cases(Selection([suite.name], [found.name for found in setup.SETUPS],
            page_clusters=selection.PAGE_CLUSTERS), suite.arches[0])  # fmt: skip
        for posting in suite.postings:
            assert set(posting.figures) <= {metric.name for metric in suite.metrics}, suite.name
            assert any(posting.fits(case) for case in cases), f"{suite.name}: {posting.source}"
            assert {name for name in posting.setups if name in suite.without} == set(), suite.name


@pytest.mark.parametrize(
    ("name", "setup_name", "pressure", "metric", "ratios"),
    [
        ("usemem52", "zram", "global", "real", {"vswap v5": 1.2236, "vswap v6": 0.9893}),
        ("usemem52", "zram", "global", "throughput", {"vswap v5": 0.8261, "vswap v6": 1.0205}),
        ("usemem52", "zram", "global", "free latency", {"vswap v5": 0.9041, "vswap v6": 0.9763}),
        ("memhog", "zswap", "global", "real", {"table edition RFC v2, zstd": 1.0074}),
        ("usemem1", "zswap", "global", "free latency", {"table edition RFC v2, zstd": 0.8498}),
        ("usemem1", "pmem", "global", "free latency", {"swap table III": 0.9954, "vswap v3": 2.4305}),
        ("usemem48", "pmem", "global", "throughput", {"swap table IV": 1.0087}),
        ("kbuild", "zswap", "memcg", "real", {"vswap v3": 0.9983, "table edition RFC v2, zstd": 0.9989}),
        ("kbuild96", "zram", "global", "sys", {"swap table IV": 0.9723}),
        ("redis-2g", "zram", "global", "requests", {"swap table IV": 1.0143}),
        ("usemem30", "zswap-disk", "memcg", "real", {"zswap batching v14, zstd": 0.9775}),
        ("refault-64k", "zswap", "global", "refault", {"large zswap swap-in RFC v2": 0.778}),
        ("metadata", "zswap", "none", "100 %", {"vswap v3": 1.2614}),
        ("metadata", "disk-always", "none", "25 %", {"vswap v3": 1.6159}),
    ],
)
def test_ratios_are_those_of_the_postings(
    name: str, setup_name: str, pressure: str, metric: str, ratios: dict[str, float]
) -> None:
    found = suites.find(name).published(Case(name, setup_name, pressure, page_cluster=0), metric)
    assert {figure.source: figure.ratio for figure in found} == pytest.approx(ratios, abs=1e-4)


def test_a_figure_is_in_the_unit_of_the_metric() -> None:
    """Published in KB/s and ms."""
    case = replace(GLOBAL, suite="usemem52")
    throughput = suites.find("usemem52").published(case, "throughput")[-1]
    latency = suites.find("usemem52").published(case, "free latency")[-1]
    assert throughput.base == pytest.approx(27.53, abs=0.01) and latency.value == pytest.approx(98_700)
    assert latency.label == "vswap v6, 2026-05-05"


def test_nobody_has_published_another_set_up_or_size() -> None:
    for suite, setup_name, pressure, metric in (
        ("metadata-small", "zswap", "none", "100 %"),
        ("usemem52", "zswap", "global", "real"),
        ("kbuild", "zswap", "global", "real"),
        ("touch", "zswap", "memcg", "read p50"),
    ):
        assert not suites.find(suite).published(Case(suite, setup_name, pressure), metric), suite


def test_a_posting_fits_what_it_was_measured_with() -> None:
    posting = Posting("a", ("zram",), "global", {"real": (4.0, 3.0), "sys": 0.5}, mglru=True, page_cluster=0)
    assert posting.fits(GLOBAL) and posting.fits(replace(GLOBAL, mglru=True, compressor="lz4"))
    for other in (
        replace(GLOBAL, mglru=False), replace(GLOBAL, page_cluster=3), replace(GLOBAL, page_cluster=None),
        replace(GLOBAL, setup="zswap"), replace(GLOBAL, pressure="memcg"),
    ):  # fmt: skip
        assert not posting.fits(other)
    real, system = posting.of("real"), posting.of("sys")
    assert real and (real.ratio, real.base, real.value, real.label) == (0.75, 4.0, 3.0, "a")
    assert system and (system.ratio, system.base, system.value) == (0.5, None, None)
    assert posting.of("throughput") is None
