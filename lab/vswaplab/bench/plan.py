# SPDX-License-Identifier: GPL-2.0
"""What is going to run: cases, and for each of them rounds in which the kernels take turns."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from vswaplab.bench import setup as setups
from vswaplab.bench import suites
from vswaplab.bench.suite import Suite
from vswaplab.errors import UsageError


def slug(text: str) -> str:
    """The letters and digits of a text, with "-" for what is between them: for files and anchors."""
    return "-".join("".join(c if c.isalnum() else " " for c in text).split())


@dataclass(frozen=True)
class Case:
    """One comparison. ``compressor``, ``mglru`` and ``page_cluster`` None: the kernel's default."""

    suite: str
    setup: str
    pressure: str
    compressor: str | None = None
    mglru: bool | None = None
    page_cluster: int | None = None

    @property
    def setup_label(self) -> str:
        """The set-up with what was chosen beside it: "zswap", "zswap, lz4, MGLRU off, page-cluster 0"."""
        extra = [self.compressor] if self.compressor else []
        if self.mglru is not None:
            extra.append(f"MGLRU {'on' if self.mglru else 'off'}")
        if self.page_cluster is not None:
            extra.append(f"page-cluster {self.page_cluster}")
        return ", ".join([self.setup, *extra])

    @property
    def title(self) -> str:
        """A name for people."""
        return f"{self.suite} / {self.setup_label} / {self.pressure}"

    @property
    def key(self) -> str:
        """A name for files and anchors."""
        return slug(self.title)


@dataclass(frozen=True)
class Turn:
    """One guest: a kernel's turn in a round of a case."""

    case: Case
    kernel: str
    round: int

    @property
    def key(self) -> str:
        """A name that no other turn of the plan has."""
        return f"{self.case.key}/{self.kernel}/{self.round}"


@dataclass(frozen=True)
class Options:
    """What a user can choose about the guests. ``limit`` is RAM in bytes: see vswaplab.bench.setup."""

    arch: str = "um"
    limit: int = 256 << 20
    cpus: int = 2
    rounds: int = 5
    warmup: int = 1
    against: str = ""  # SETUP@KERNEL: see vswaplab.bench.against


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


def _groups(found: Sequence[Case], together: bool) -> list[list[Case]]:
    """The cases whose rounds alternate: each alone, or with those that differ in the set-up only."""
    groups: dict[Case, list[Case]] = {}
    for case in found:
        groups.setdefault(replace(case, setup="") if together else case, []).append(case)
    return list(groups.values())


def turns(
    found: Sequence[Case], kernels: Sequence[str], rounds: int, *, together: bool = False
) -> Iterator[Turn]:
    """Every guest in the order it runs: the kernels' order is reversed from round to round.

    With ``together`` set-ups take turns as kernels do, because they are compared as well. Of a suite whose
    figures do not vary there is only the last round, which counts.
    """
    for group in _groups(found, together):
        order = [(case, kernel) for case in group for kernel in kernels]
        first = rounds - 1 if suites.find(group[0].suite).deterministic else 0
        for number in range(first, rounds):
            for case, kernel in order if number % 2 == 0 else reversed(order):
                yield Turn(case, kernel, number)


def identity(
    found: Sequence[Case], kernels: Mapping[str, str], options: Options, scripts: Mapping[str, str]
) -> str:
    """A checksum over everything that decides what the rounds of a plan measure.

    ``kernels`` are the checksums of images by name, ``scripts`` the guests' scripts by case.
    """
    content = [[asdict(case) for case in found], dict(kernels), asdict(options), dict(scripts)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
