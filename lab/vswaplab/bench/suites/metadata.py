# SPDX-License-Identifier: GPL-2.0
"""The memory that swap space takes to describe itself, at 0 to 100 % of 32 GB in use.

swap_bench fills the space with slots as if page tables held them; the pages themselves need next to
no memory (a page is a word repeated: zswap compresses it to almost nothing, zram keeps the word).

What is counted, the same way for every kernel, is memory of the kernel itself: MemTotal less
MemFree, Buffers, Cached, SwapCached and AnonPages, less zswap's pool, its entries and zsmalloc's
own caches, and above what there was before swapon. One figure includes the latter two. Left are the
arrays of clusters, the tables of clusters, and the trees that lead from a slot to zswap's entry,
which virtual swap has its backing words for: published figures count them too, and "zswap's trees"
tells how much they are.
With virtual swap the kernel's own figure (metadata_bytes) must agree. On User-Mode Linux, whose
clusters have 256 slots, a cluster's table is a slab object of 2056 bytes, 15 of them to 32 KB: each
table costs 7 % more there than on x86-64, where it is a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vswaplab.bench import swapbench
from vswaplab.bench.published import Posting
from vswaplab.bench.suite import Metric, Room, Suite, Unverified
from vswaplab.guest import GuestSpec

_MB = 1 << 20
_STEPS = (0, 25, 50, 75, 100)
_USERS = ("MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "Zswap")
_TREES = "radix_tree_node"
_ZSWAP_CACHES = ("zswap", "zs_", "zspage", "zsmalloc")
_PER_PAGE_CACHES = ("zswap_entry", "zs_handle")  # one object for each compressed page
# Posted for 32 GB (8,388,608 slots), in MB, by what is in use in percent; the first of each is their base.
_ZSWAP: dict[str, dict[int, float]] = {
    "old design": {0: 25.0, 25: 57.0, 50: 89.0, 75: 121.0, 100: 153.0},
    "vswap v3": {0: 0.0, 25: 48.25, 50: 96.5, 75: 144.75, 100: 193.0},
}
_DISK: dict[str, dict[int, float]] = {
    "old design": {0: 25.0, 25: 41.0, 50: 57.0, 75: 73.0, 100: 89.0},
    "vswap v3": {0: 2.0, 25: 66.25, 50: 130.5, 75: 194.75, 100: 259.0},
    "swap table II": {0: 25.5, 100: 89.5},
    "swap table III": {0: 17.5, 100: 81.5},
    "swap table IV": {0: 0.5, 100: 64.5},
}
_SLACK = 4 * _MB  # pages in per-CPU lists, slabs of others
_ALL = "bytes per slot, entries and handles included"
_TABLES = "swap_table"  # the slab cache where a cluster's table is no page

# sample NAME: what tells how much memory the kernel uses
_SAMPLE = """
V=/sys/kernel/mm/vswap
sample() {
  sleep 1; run op=settle; cat /proc/sys/vm/stat_refresh
  cat /proc/meminfo > $RESULTS/meminfo.$1; cat /proc/slabinfo > $RESULTS/slab.$1
  [ ! -e $V/metadata_bytes ] || cat $V/metadata_bytes > $RESULTS/own.$1
}
"""


def _meminfo(text: str) -> dict[str, int]:
    """Bytes by name."""
    rows = (line.split() for line in text.splitlines())
    return {row[0].rstrip(":"): int(row[1]) << 10 for row in rows if row[-1] == "kB"}


def _slabs(text: str) -> dict[str, int]:
    """Bytes that each slab cache takes, whole slabs: pages per slab times slabs."""
    rows = (line.split() for line in text.splitlines()[2:])
    return {row[0]: int(row[5]) * int(row[14]) * 4096 for row in rows}


def kernel_bytes(files: Mapping[str, str], at: str) -> int:
    """What the kernel uses for itself, zswap left out. Raises KeyError and ValueError."""
    memory, slabs = _meminfo(files[f"meminfo.{at}"]), _slabs(files[f"slab.{at}"])
    used = memory["MemTotal"] - sum(memory[name] for name in _USERS)
    return used - sum(size for name, size in slabs.items() if name.startswith(_ZSWAP_CACHES))


def _per_page(slabinfo: str) -> int:
    """Bytes of what there is for each compressed page besides its slot."""
    return sum(size for name, size in _slabs(slabinfo).items() if name in _PER_PAGE_CACHES)


def _postings(setups: Sequence[str], figures: Mapping[str, Mapping[int, float]]) -> list[Posting]:
    (_, base), *others = figures.items()
    return [
        Posting(source, setups, "none", {f"{step} %": (base[step], value) for step, value in found.items()})
        for source, found in others
    ]


POSTINGS = (
    *_postings(("zswap", "zswap-disk", "zswap-full"), _ZSWAP),
    *_postings(("disk", "disk-after-zswap", "disk-always"), _DISK),
)


class Metadata(Suite):
    """Fill in four steps, look at memory after each."""

    setups = ("zswap", "disk", "disk-always")
    pressures = ("none",)
    flavour = "bench"
    faults = False
    timeout = 3600.0
    deterministic = True

    def __init__(self, name: str, summary: str, slots: int, postings: Sequence[Posting] = ()) -> None:
        self.name = name
        self.postings = postings
        self.summary = summary
        self._slots = slots
        steps = [Metric(f"{step} %", "MB") for step in _STEPS]
        self.metrics = (*steps, Metric("zswap's trees", "MB"), Metric("bytes per slot", "B"), Metric(_ALL, "B"))

    def working_set(self, room: Room) -> int:
        """None of its own: the slots stand for far more than there is."""
        return 0

    def adapt(self, spec: GuestSpec) -> GuestSpec:
        """A device with room for all slots, and memory for what describes them (and zswap's entries)."""
        kind = "none" if spec.swap == "none" else f"zram:{self._slots * 4096 + 64 * _MB}"
        memory = 256 * _MB + self._slots * 320
        more = [*spec.extra_cmdline, "slab_nomerge"]
        return replace(spec, mem_bytes=memory, cpus=1, swap=kind, pool_percent=90, extra_cmdline=more)

    def script(self, room: Room) -> str:
        """Something small first, for what is allocated once; then swapon, and step by step."""
        quarter = self._slots // 4
        fill = "".join(f"run 'op=fill pages={quarter}'\nsample {step}\n" for step in _STEPS[1:])
        return f"""{swapbench.PRELUDE}{_SAMPLE}
device=$(awk 'NR == 2 {{ print $1 }}' /proc/swaps)
[ -z "$device" ] || swapoff $device || fail swapoff
sample start; sample off
[ -z "$device" ] || swapon $device || fail swapon
sample 0
{fill}run op=drain
sample empty
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """MB at each step; whether the slots were there, and whether the kernel agrees."""
        fills = [entry for entry in swapbench.objects(files) if entry["op"] == "fill"]
        filled = [entry["filled"] for entry in fills]
        if filled != [self._slots // 4 * n for n in range(1, 5)]:
            raise Unverified(f"filled {filled} slots instead of {self._slots} in four steps")
        self._check_filled(files)
        static = int(files.get("own.off", "0"))
        base = kernel_bytes(files, "off") - static
        used = {step: kernel_bytes(files, str(step)) - base for step in _STEPS}
        used[100] -= fills[-1]["own_bytes"]
        self._check_own(files, used[100])
        trees = _slabs(files["slab.100"])[_TREES] - _slabs(files["slab.0"])[_TREES]
        return {
            **{f"{step} %": size / _MB for step, size in used.items()},
            "zswap's trees": max(trees, 0) / _MB,
            "bytes per slot": used[100] / self._slots,
            _ALL: (used[100] + _per_page(files["slab.100"]) - _per_page(files["slab.0"])) / self._slots,
        }

    def _check_filled(self, files: Mapping[str, str]) -> None:
        """Every slot is zswap's, or one of the device. Raises Unverified."""
        memory = _meminfo(files["meminfo.100"])
        zswapped, device = memory["Zswapped"] // 4096, (memory["SwapTotal"] - memory["SwapFree"]) // 4096
        if max(zswapped, device) < self._slots:
            raise Unverified(f"of {self._slots} slots {zswapped} are in zswap and {device} on the device")

    def _check_own(self, files: Mapping[str, str], used: int) -> None:
        """The kernel's own figure, if it has one and virtual slots were filled. Raises Unverified."""
        said = int(files.get("own.100", "0")) - int(files.get("own.off", "0"))
        on_device = _meminfo(files["meminfo.100"])["Zswapped"] == 0
        tables = self._slots * 8 if on_device else 0  # the reverse map is the device's own table
        # The kernel counts the tables; what a slab loses between them is not in its figure.
        tolerance = used * (9 if _TABLES in files["slab.100"] else 3) // 100 + _SLACK
        if said > self._slots and abs(said + tables - used) > tolerance:
            raise Unverified(f"{used} bytes were measured, the kernel says {said + tables}")


FULL = Metadata("metadata", "memory that 32 GB of swap space takes, by how much is in use", 8 << 20, POSTINGS)
SMALL = Metadata("metadata-small", "the same for 4 GB", 1 << 20)
SUITES = (SMALL, FULL)
