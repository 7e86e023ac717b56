# SPDX-License-Identifier: GPL-2.0
"""Which cases are going to run: those that a user's words stand for."""

from collections.abc import Sequence
from dataclasses import dataclass

from vswaplab.bench import setup as setups
from vswaplab.bench import suites
from vswaplab.bench.case import Case
from vswaplab.bench.suite import Suite
from vswaplab.errors import UsageError

# vm.page-cluster unless told otherwise: what kernels start with, and what everybody sets who tunes swap.
PAGE_CLUSTERS = (3, 0)

# The quick suite: what says most, with no more rows than seven rounds can judge. (suite, set-up, pressure)
QUICK = (
    ("usemem1", "zswap", "memcg"),
    ("usemem1", "zswap", "global"),
    ("usemem1", "disk", "memcg"),
    ("usememN", "zswap", "global"),
    ("memhog", "zswap", "memcg"),
    ("kbuild", "zswap", "global"),
    ("redis", "zswap", "memcg"),
    ("sqlite", "zswap", "memcg"),
    ("touch", "zswap", "memcg"),
    ("leftover", "zswap", "global"),
    ("exit", "zswap", "memcg"),
    ("fork", "zswap", "memcg"),
    ("swapoff", "disk-always", "memcg"),
    ("tmpfs", "zswap", "memcg"),
)


@dataclass(frozen=True)
class Selection:
    """Names a user gave; None where nothing was said."""

    suites: Sequence[str] = ()
    setups: Sequence[str] | None = None
    pressures: Sequence[str] | None = None
    compressors: Sequence[str] | None = None
    mglru: Sequence[bool] | None = None
    page_clusters: Sequence[int] | None = None
    quick: bool = False


def _setups_of(suite: Suite, wanted: Sequence[str] | None) -> list[str]:
    """The set-ups a suite runs in, in the table's order. Raises UsageError for one it cannot."""
    if wanted is None:
        return list(suite.setups or setups.USUAL)
    return [name for name in wanted if name not in suite.without]


def _pressures_of(suite: Suite, wanted: Sequence[str] | None) -> list[str]:
    if wanted is None or suite.pressures == ("none",):
        return list(suite.pressures)
    return [name for name in wanted if name in suite.pressures]


def _page_clusters_of(suite: str, selection: Selection) -> Sequence[int | None]:
    return (suites.find(suite).faults and selection.page_clusters) or (None,)


def cases(selection: Selection, arch: str) -> list[Case]:
    """All cases of a selection. Raises UsageError for names that do not exist, or when nothing is left."""
    for name in selection.setups or ():
        setups.find(name)
    chosen = [suites.find(name) for name in selection.suites] or list(suites.SUITES)
    chosen = [suite for suite in chosen if arch in suite.arches]
    triples = [
        (suite.name, setup, pressure)
        for suite in chosen
        for setup in _setups_of(suite, selection.setups)
        for pressure in _pressures_of(suite, selection.pressures)
    ]
    if selection.quick:
        triples = [triple for triple in QUICK if triple in _every(chosen, selection)]
    found = [
        Case(*triple, compressor, mglru, page_cluster)
        for triple in triples
        for compressor in selection.compressors or (None,)
        for mglru in selection.mglru or (suites.find(triple[0]).mglru,)
        for page_cluster in _page_clusters_of(triple[0], selection)
    ]
    if not found:
        raise UsageError("nothing to run: these suites have no such set-up, pressure or architecture")
    return list(dict.fromkeys(found))


def _every(chosen: Sequence[Suite], selection: Selection) -> set[tuple[str, str, str]]:
    """What --quick may choose from: set-ups and pressures restrict it if they are given."""
    names = {suite.name for suite in chosen}
    return {
        triple
        for triple in QUICK
        if triple[0] in names
        and (selection.setups is None or triple[1] in selection.setups)
        and (selection.pressures is None or triple[2] in selection.pressures)
    }
