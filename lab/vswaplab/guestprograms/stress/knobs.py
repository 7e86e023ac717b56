# SPDX-License-Identifier: GPL-2.0
"""The files by which an administrator changes swapping while it goes on."""

from pathlib import Path

from vswaplab.guestprograms.stress.disturber import THP, VM, VSWAP, ZSWAP, Disturber, knob, write

# Only the files of one size have "inherit".
ANONYMOUS = ("never", "always", "madvise", "inherit")
SHARED = ("never", "always", "advise", "inherit")


class HugePages(Disturber):
    """Orders of folios, of anonymous memory and of shmem."""

    def possible(self) -> bool:
        """Whether the kernel has huge pages."""
        return THP.exists()

    def step(self) -> None:
        """One order is switched on or off."""
        sizes = [*THP.glob("hugepages-*kB/enabled"), *THP.glob("hugepages-*kB/shmem_enabled")]
        path = self.rng.choice([*sizes, THP / "enabled", THP / "shmem_enabled"])
        values = SHARED if path.name == "shmem_enabled" else ANONYMOUS
        self.count("folio order", write(path, self.rng.choice(values[:3] if path.parent == THP else values)))


class Caches(Disturber):
    """Shrinkers run: zsmalloc's compaction and zswap's writeback among them."""

    pause = 1.0

    def step(self) -> None:
        """Caches are dropped, or memory is compacted."""
        if self.rng.random() < 0.5 and (VM / "compact_memory").exists():
            self.count("memory compacted", write(VM / "compact_memory", 1))
        else:
            self.count("caches dropped", write(VM / "drop_caches", self.rng.choice((1, 2, 3))))


KNOBS: tuple[type[Disturber], ...] = (
    knob(VSWAP / "mode", ("auto", "always", "never"), "auto"),
    knob(ZSWAP / "enabled", ("Y", "Y", "N"), "Y", "zswap enabled"),
    knob(ZSWAP / "compressor", ("lzo", "lz4", "zstd", "deflate"), "lzo"),
    knob(ZSWAP / "max_pool_percent", (1, 5, 20, 80), 80),
    knob(ZSWAP / "shrinker_enabled", ("Y", "N"), "Y"),
    knob(VM / "page-cluster", (0, 0, 1, 3, 5), 0),
    knob(VM / "swappiness", (1, 60, 100, 200), 100),
    knob(VM / "watermark_scale_factor", (10, 100, 500), 10),
    knob(Path("/sys/kernel/mm/lru_gen/enabled"), ("y", "n"), "y", "MGLRU enabled"),
    HugePages,
    Caches,
)
