# SPDX-License-Identifier: GPL-2.0
"""The files by which an administrator changes swapping while it goes on."""

import random
from pathlib import Path

from vswaplab.guestprograms.stress.disturber import THP, VM, VSWAP, ZSWAP, Disturber, Knob, write

KSM = Path("/sys/kernel/mm/ksm")

# Only the files of one size have "inherit".
ANONYMOUS = ("never", "always", "madvise", "inherit")
SHARED = ("never", "always", "advise", "inherit")


class HugePages(Disturber):
    """Sizes of folios, of anonymous memory and of shmem."""

    def possible(self) -> bool:
        """Whether the kernel has huge pages."""
        return THP.exists()

    def step(self) -> None:
        """One size is switched on or off."""
        sizes = [*THP.glob("hugepages-*kB/enabled"), *THP.glob("hugepages-*kB/shmem_enabled")]
        path = self.rng.choice([*sizes, THP / "enabled", THP / "shmem_enabled"])
        values = SHARED if path.name == "shmem_enabled" else ANONYMOUS
        self.count("size of folios", write(path, self.rng.choice(values[:3] if path.parent == THP else values)))


class SamePages(Disturber):
    """ksmd merges pages, rests, or takes them apart."""

    pause = 1.5

    def possible(self) -> bool:
        """Whether the kernel has KSM."""
        return KSM.exists()

    def step(self) -> None:
        """0 rests, 1 merges, 2 takes apart."""
        write(KSM / "pages_to_scan", 2000)
        self.count("ksm", write(KSM / "run", self.rng.choice((0, 1, 1, 2))))

    def undo(self) -> None:
        """Take everything apart."""
        write(KSM / "run", 2)


class Caches(Disturber):
    """Shrinkers run: zsmalloc's compaction and zswap's writeback among them."""

    pause = 1.0

    def step(self) -> None:
        """Caches are dropped, or memory is compacted."""
        if self.rng.random() < 0.5 and (VM / "compact_memory").exists():
            self.count("memory compacted", write(VM / "compact_memory", 1))
        else:
            self.count("caches dropped", write(VM / "drop_caches", self.rng.choice((1, 2, 3))))


def knobs(rng: random.Random, memory: int) -> list[Disturber]:
    """All of them."""
    return [
        Knob(rng, memory, VSWAP / "mode", ("auto", "always", "never"), "auto"),
        Knob(rng, memory, ZSWAP / "enabled", ("Y", "Y", "N"), "Y"),
        Knob(rng, memory, ZSWAP / "compressor", ("lzo", "lz4", "zstd", "deflate"), "lzo"),
        Knob(rng, memory, ZSWAP / "max_pool_percent", (1, 5, 20, 80), 80),
        Knob(rng, memory, ZSWAP / "shrinker_enabled", ("Y", "N"), "Y"),
        Knob(rng, memory, VM / "page-cluster", (0, 0, 1, 3, 5), 0),
        Knob(rng, memory, VM / "swappiness", (1, 60, 100, 200), 100),
        Knob(rng, memory, VM / "watermark_scale_factor", (10, 100, 500), 10),
        Knob(rng, memory, Path("/sys/kernel/mm/lru_gen/enabled"), ("y", "n"), "y"),
        HugePages(rng, memory), SamePages(rng, memory), Caches(rng, memory),
    ]  # fmt: skip
