# SPDX-License-Identifier: GPL-2.0
"""What a group gets done while another one does its worst: see vswaplab.guestprograms.isolation."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vswaplab.bench.suite import Metric, Room, Suite, verified
from vswaplab.guest import GuestSpec
from vswaplab.guestprograms import isolation

_MB = 1 << 20
_FULL = "full device"


def _metrics(kinds: Iterable[str]) -> tuple[Metric, ...]:
    return tuple(
        metric
        for kind in kinds
        for metric in (
            Metric(f"touches, neighbour: {kind}", "1/s", lower_is_better=False),
            Metric(f"slowest, neighbour: {kind}", "µs"),
            Metric(f"p99, neighbour: {kind}", "µs"),
        )
    )


class Isolation(Suite):
    """One CPU for both groups, and a clock that counts instructions: the host's other work does not show.

    A kernel is as good as its scheduler here where the neighbour computes all the time; what differs
    between two kernels is what the neighbour's swapping does to the other one.
    """

    name = "isolation"
    summary = "touches of a group beside one that does its worst (x86-64, instructions as time)"
    kinds = tuple(kind for kind in isolation.KINDS if kind != _FULL)
    metrics = _metrics(kinds)
    setups: Sequence[str] = ("zswap", "zswap-disk")
    # groups are not charged for zram; disks need real time
    without: Sequence[str] = ("zram", "disk", "disk-after-zswap", "disk-always", "pmem")
    pressures = ("none",)
    arches = ("x86_64",)
    timeout = 1800.0
    touches = 4000

    def working_set(self, room: Room) -> int:
        """What both groups have at most; zeroes take slots of mainline's device as well."""
        return isolation.DATA + 16 * isolation.LIMIT

    def adapt(self, spec: GuestSpec) -> GuestSpec:
        """A machine in which only the groups are short of memory."""
        return replace(spec, mem_bytes=320 * _MB, cpus=1, pool_percent=40, icount=True)

    def script(self, room: Room) -> str:
        """All neighbours, one after the other."""
        program = shlex.quote(str(Path(isolation.__file__).resolve()))
        kinds = shlex.join(self.kinds)
        return f"""
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
begin
python3 {program} {self.touches} $RESULTS/out.json {kinds} || fail "the program failed"
finish
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """The figures of each neighbour."""
        found = verified(files)["found"]
        return {f"{figure}, neighbour: {kind}": found[kind][figure] for kind in self.kinds for figure in
                ("touches", "slowest", "p99")}  # fmt: skip


class IsolationFull(Isolation):
    """Where every kernel has a device that can be full: its neighbour waits for the disk instead of computing."""

    name = "isolation-full"
    summary = "the same beside one that fills the swap device"
    kinds = (_FULL,)
    metrics = _metrics(kinds)
    setups = ("zswap-disk",)
    without = (*Isolation.without, "zswap", "zswap-full")


SUITE = Isolation()
FULL = IsolationFull()
