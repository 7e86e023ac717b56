# SPDX-License-Identifier: GPL-2.0
"""The trials: what is done to the machine while its memory is swapped and verified."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MIB = 1 << 20
# What says that a block of memory is in use at the moment. Offlining it tries again, or fails with EBUSY.
# "Unmovable" is memory that was reserved at boot.
_OFFLINE = tuple(
    f"page dumped because: {why}" for why in ("isolation failed", "migration failure", "unmovable page")
)

# How many nodes of memory a guest may have, where the kernel knows of such
_NODES = {("x86_64", "rt"): (2,), ("x86_64", "debug"): (1, 2)}


@dataclass(frozen=True)
class Trial:
    """``disturbers`` are those of vswaplab.guestprograms.stress.

    ``share`` is the size of all workers' data, as a share of the guest's memory. ``swaps`` are the
    swap devices that a guest may have, ``pools`` the sizes of zswap's pool, in percent, if it has one;
    ``memory`` are its sizes in MB (empty: those of its architecture). ``killed``: workers may be
    killed, or get errors, by what is done; then only wrong content is a failure. ``reads``: workers
    churn, and so many percent of their steps only verify. ``expected`` are complaints that belong to
    the trial. ``architectures`` and ``flavours`` are those in which it makes sense.
    """

    name: str
    what: str
    disturbers: Sequence[str]
    share: float = 0.35  # all of it fits when zswap may take little and there is no device
    swaps: Sequence[str] = ("none", "file:128M", "file:512M", "zram:256M")
    pools: Sequence[int] = (3, 20, 80)
    memory: Sequence[int] = ()
    killed: bool = False
    reads: float = 0
    expected: Sequence[str] = ()
    architectures: Sequence[str] = ("um", "x86_64")
    flavours: Sequence[str] = ("release", "bench", "debug", "minimal", "preempt", "rt", "kcsan")
    cmdline: Sequence[str] = ()

    def fits(self, arch: str, flavour: str) -> bool:
        """Whether such a kernel can have this trial."""
        return arch in self.architectures and flavour in self.flavours

    def guest(self, seed: int, arch: str, flavour: str) -> dict[str, Any]:
        """Fields of a GuestSpec, the same for the same seed."""
        rng = random.Random(f"{self.name} {seed}")
        most = {"um": 2, "x86_64": 4}[arch]
        memory = self.memory or ((256, 320, 384) if arch == "um" else (320, 512, 768))
        swap = rng.choice([swap for swap in self.swaps if flavour != "minimal" or "zram" not in swap])
        return {
            "mem_bytes": rng.choice(memory) * _MIB,
            "cpus": 1 if flavour == "minimal" else rng.randrange(2, most + 1),
            "swap": swap,
            "mode": rng.choice(("auto", "auto", "always")),
            "pool_percent": 80 if swap == "none" else rng.choice(self.pools),
            "compressor": rng.choice(("lzo", "lz4", "zstd")),
            "nodes": rng.choice(_NODES.get((arch, flavour), (1,))),
            "extra_cmdline": tuple(self.cmdline),
        }


DEBUG = ("debug",)
WITH_GROUPS = ("release", "bench", "debug", "preempt", "rt", "kcsan")
TRIALS = (
    Trial(
        "pressure", "Nothing but more data than memory: swapcheck's modes, mixtures of pages.",
        (), share=0.8, swaps=("none", "file:1G", "zram:1G"), memory=(256,),
    ),
    Trial(
        "changes", "Mode, compressor, pool, zswap, MGLRU, folio orders and vm settings change.",
        ("knobs",),
    ),
    Trial(
        "reading", "Data is written once and read again and again, in part from swap; groups are reclaimed.",
        ("reclaim",), share=0.5, reads=97, swaps=("none", "file:512M", "zram:256M"), flavours=WITH_GROUPS,
    ),
    Trial(
        "groups", "Limits change, groups are reclaimed, made and removed, processes move.", ("groups",),
        flavours=WITH_GROUPS,
    ),
    Trial(
        "swapoff", "The device is removed and added again, while data is written back to it.",
        ("swapoff", "groups"), swaps=("file:128M", "file:512M"), flavours=WITH_GROUPS,
    ),
    Trial(
        "deaths", "Processes are killed at any moment; others are OOM-killed by their group's limit.",
        ("deaths", "oom", "groups"), flavours=WITH_GROUPS,
    ),
    Trial(
        "folios", "Orders of anonymous and shmem folios change, from 16 KB to 2 MB.",
        ("folios", "groups"), architectures=("x86_64",), flavours=("release", "bench", "debug", "kcsan"),
    ),
    Trial(
        "hot-plug", "CPUs and blocks of memory go offline and come back.",
        ("cpus", "memory", "groups"), architectures=("x86_64",), flavours=WITH_GROUPS,
        memory=(640, 768), expected=_OFFLINE, cmdline=("movablecore=384M",),
    ),
    Trial(
        "allocations fail",
        "1 to 30 % of allocations of workers, kswapd and virtual swap's work fail (failslab, fail_page_alloc).",
        ("allocations", "groups"), killed=True, flavours=DEBUG,
        expected=("Write-error on swap-device",),  # zram allocates
    ),
    Trial(
        "I/O errors", "5 to 50 % of the requests of the swap device fail (fail_make_request).",
        ("requests", "groups"), swaps=("file:128M", "file:512M"), pools=(1, 3), killed=True, flavours=DEBUG,
        expected=("Read-error on swap-device", "Write-error on swap-device"),
    ),
    Trial(
        "bad inputs", "Bad values for the files of virtual swap, zswap and a group; corrupted swap headers.",
        ("fuzz", "groups"), flavours=WITH_GROUPS,
    ),
    Trial(
        "everything", "Changes, groups, swapoff and deaths at once.",
        ("knobs", "groups", "swapoff", "deaths", "oom"), swaps=("file:128M", "file:512M"), flavours=WITH_GROUPS,
    ),
)  # fmt: skip


def by_name(name: str) -> Trial | None:
    """The trial of that name."""
    return next((trial for trial in TRIALS if trial.name == name), None)
