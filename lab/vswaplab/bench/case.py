# SPDX-License-Identifier: GPL-2.0
"""A case, the turns of kernels in it, and what a user can choose about its guests."""

from dataclasses import dataclass


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
