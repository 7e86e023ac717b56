# SPDX-License-Identifier: GPL-2.0
"""What a guest is to be, and what came of it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import UsageError
from vswaplab.guest.samples import Counters, Sample, device_slots_peak, peak
from vswaplab.guest.splats import excerpts
from vswaplab.units import format_size, parse_size

Status = Literal["ok", "panic", "lost", "timeout", "refused"]

MODES = ("always", "auto", "never")
MEM_MIN, MEM_MAX = 48 << 20, 64 << 30
SWAP_MIN, SWAP_MAX = 1 << 20, 4 << 40  # ext4 has no larger files, of which the disks are made, with 1 KB blocks
SCRATCH_MIN = 1 << 20
CGROUPS = (1, 2)
CPUS_MAX = {"um": 2, "x86_64": 8}  # CONFIG_NR_CPUS
CPUS_DEFAULT = 2
GRACE = 30.0  # seconds without a word from a guest that has to end its script and send the results


@dataclass(frozen=True)
class Swap:
    """A swap device: none, a disk backed by a sparse file of the host, zram, or a disk in the guest's RAM."""

    kind: Literal["none", "file", "zram", "ram"] = "none"
    bytes: int = 0


def parse_swap(text: str) -> Swap:
    """The swap device for "none", "file:SIZE", "zram:SIZE" or "ram:SIZE". Raises UsageError."""
    kind, colon, size = text.partition(":")
    if text == "none":
        return Swap()
    if not colon or kind not in ("file", "zram", "ram"):
        kinds = "none, file:SIZE, zram:SIZE or ram:SIZE, such as file:1G"
        raise UsageError(f"bad swap device {text!r}: expected {kinds}")
    count = parse_size(size)
    if count < SWAP_MIN:
        raise UsageError(f"bad swap device {text!r}: less than {format_size(SWAP_MIN)}")
    if count > SWAP_MAX:
        raise UsageError(f"bad swap device {text!r}: more than {format_size(SWAP_MAX)}")
    known: dict[str, Literal["file", "zram", "ram"]] = {"file": "file", "zram": "zram", "ram": "ram"}
    return Swap(known[kind], count // 4096 * 4096)


def _ignore_sample(_sample: Sample) -> None:
    pass


def _ignore_output(_stream: str, _data: bytes) -> None:
    pass


@dataclass(frozen=True)
class GuestSpec:
    """One guest.

    ``script`` is shell text, run as root; files it puts into the directory $RESULTS come back.
    With ``results``, an empty directory of the host, they come there, and whole: of any size and with
    directories and links; also when the time limit is over, if the guest answers within GRACE seconds.
    ``cpus`` None means CPUS_DEFAULT. ``timeout`` is in seconds, from the start
    of the machine (infinity: no limit).
    ``pool_percent`` is zswap.max_pool_percent (None: the kernel's 20). ``compressor`` is zswap's,
    and zram's if there is a zram (None: the kernel's). ``mode`` is passed to kernels with virtual
    swap only. ``leak_pause`` is the pause, in seconds, between kmemleak's two scans at the end, on
    kernels that have kmemleak (0: no scan). ``cgroup`` is the version of the hierarchy in
    /sys/fs/cgroup. ``scratch`` is the size in bytes of a second disk, empty, for the script (0: none);
    with ``scratch_mounted`` a file system is made on it, and it is mounted at /scratch.
    ``nodes`` is the number of NUMA nodes, each with its part of memory and CPUs (x86_64).
    ``icount`` makes the guest's clock count instructions, one a nanosecond (x86_64, one CPU).
    ``plugin`` is a plugin of QEMU and its arguments, "NAME=VALUE" (x86_64).
    ``on_output`` gets a stream ("out", "err") and bytes as they come.
    """

    kernel: BuiltKernel
    script: str
    mem_bytes: int = 256 << 20
    cpus: int | None = None
    swap: str = "none"
    zswap: bool = True
    compressor: str | None = None
    pool_percent: int | None = None
    mode: str = "auto"
    timeout: float = 600.0
    extra_cmdline: Sequence[str] = ()
    sample_ms: int = 150
    leak_pause: int = 6
    cgroup: int = 2
    scratch: int = 0
    scratch_mounted: bool = False
    results: Path | None = None
    nodes: int = 1
    icount: bool = False
    plugin: Sequence[str] = ()
    on_sample: Callable[[Sample], None] = _ignore_sample
    on_output: Callable[[str, bytes], None] = _ignore_output

    @property
    def time_limit(self) -> int:
        """Seconds after which the guest itself ends the script, for its results; 0: it does not.

        A clock that counts instructions does not tell the time.
        """
        wanted = self.results is not None and not self.icount and math.isfinite(self.timeout)
        return math.ceil(self.timeout) if wanted else 0

    @property
    def cpus_used(self) -> int:
        """The number of CPUs that the guest gets."""
        return CPUS_DEFAULT if self.cpus is None else self.cpus

    def check(self) -> None:
        """Raise UsageError for a value that no guest can be given."""
        if not MEM_MIN <= self.mem_bytes <= MEM_MAX:
            bounds = f"{format_size(MEM_MIN)} to {format_size(MEM_MAX)}"
            raise UsageError(f"bad memory size {format_size(self.mem_bytes)}: a guest takes {bounds}")
        most = CPUS_MAX[self.kernel.arch]
        if not 1 <= self.cpus_used <= most:
            raise UsageError(f"bad number of CPUs {self.cpus}: {self.kernel.arch} guests have 1 to {most}")
        if self.pool_percent is not None and not 1 <= self.pool_percent <= 100:
            raise UsageError(f"bad pool size {self.pool_percent} %: expected 1 to 100")
        if self.mode not in MODES:
            raise UsageError(f"no mode {self.mode!r}; there are: {', '.join(MODES)}")
        if self.compressor is not None and not self.compressor.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"bad compressor {self.compressor!r}")
        if not self.timeout > 0:
            raise UsageError(f"bad time limit {self.timeout:g}: expected a positive number of seconds")
        if self.cgroup not in CGROUPS:
            raise UsageError(f"no cgroup version {self.cgroup}; there are: 1, 2")
        if self.scratch_mounted and self.scratch < SCRATCH_MIN:
            raise UsageError(f"bad scratch disk: less than {format_size(SCRATCH_MIN)}")
        parse_swap(self.swap)
        self._check_machine()

    def _check_machine(self) -> None:
        """What only an emulated PC has."""
        x86_64 = self.kernel.arch == "x86_64"
        if self.icount and not (x86_64 and self.cpus_used == 1):
            raise UsageError("instructions are counted on x86_64 with one CPU only")
        if self.plugin and not x86_64:
            raise UsageError("a plugin of QEMU needs x86_64")
        if self.nodes != 1 and not (x86_64 and 1 <= self.nodes <= self.cpus_used):
            raise UsageError(f"bad number of NUMA nodes {self.nodes}: expected x86_64, and a CPU for each")


@dataclass
class GuestResult:
    """How a guest ended.

    ``status`` is "ok" when the machine came to its regular end, whatever the script returned;
    "refused" when the kernel does not take a setting (``error`` says which), "lost" when it ended
    without a word. ``exit_code`` is the script's (128 + N after signal N), None if it did not end.
    ``results_came``: all that was in $RESULTS, also if the machine came to no regular end afterwards.
    ``seconds`` is the script's running time in the guest, ``wall_seconds`` the machine's on the host.
    ``splats`` are the kernel's complaints; violations found by vswap's own check and leaks included.
    ``other_races`` are KCSAN's reports of code that is not virtual swap's, and how often each came.
    ``host`` says how busy the host was, and whether it stood still, for the message of a failure.
    """

    status: Status = "lost"
    exit_code: int | None = None
    seconds: float | None = None
    wall_seconds: float = 0.0
    error: str | None = None
    hello: Mapping[str, object] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    console: str = ""
    host: str = ""
    splats: list[str] = field(default_factory=list)
    other_races: dict[str, int] = field(default_factory=dict)
    oom_kills: list[str] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    output: str = ""
    files: dict[str, str] = field(default_factory=dict)
    results_came: bool = False
    verify_violations: int | None = None
    leaks: str | None = None
    swapoff_seconds: float | None = None
    swapoff_error: str | None = None

    @property
    def peak(self) -> Counters:
        """The five figures at the moment with most slots in use."""
        return peak(self.samples)

    @property
    def end(self) -> Counters:
        """The five figures after the workload had ended and what it held had been freed."""
        return next((s.counters for s in reversed(self.samples) if s.phase == "end"), Counters())

    @property
    def device_slots_peak(self) -> int:
        """The most slots that were in use on swap devices."""
        return device_slots_peak(self.samples)

    @property
    def clean(self) -> bool:
        """The machine came to its regular end and the kernel complained about nothing."""
        return self.status == "ok" and not self.splats

    @property
    def account(self) -> str:
        """For the message of a failure: how it ended, the complaints, what it printed, the end of the console."""
        head = f"{self.status}: {self.error}\n{self.host}"
        return "\n".join((head, excerpts(self.console, self.splats), self.output, self.console[-4000:]))
