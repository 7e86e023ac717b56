# SPDX-License-Identifier: GPL-2.0
"""What a benchmark suite is: shell text for a guest, and figures out of the files it leaves.

To add a suite, write a subclass of Suite in a module of ``bench/suites/`` and name an instance of
it in ``suites/__init__.py``. Nothing else has to know it: options, checks, rounds, statistics and
the report follow from its attributes. A round is one guest: booted for one kernel, set up, given
``script()``, and taken down; ``parse()`` then gets what the script wrote into $RESULTS.

In a script these are there (see bench/script.py for their text):

  limited COMMAND...   run it under the pressure asked for: in the control group whose memory.max is
                       the limit, or as it is in a machine that has no more memory than that
  begin, finish        take the counters of /proc/vmstat, /proc/pressure/memory and /proc/stat; what
                       happened in between is reported beside the figures. A script that never calls
                       them is counted as a whole.
  fail TEXT...         end the round as failed with this reason
  now                  print the seconds since boot
  $SCRATCH             the device of an empty disk, if the suite asks for one with ``scratch``

The programs of workloads/, and those of the host, are in PATH. The data has to be verified, by the
script (``fail``) or by ``parse()`` (raise Unverified): a round whose data is wrong is a failed one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vswaplab.bench.case import Case
from vswaplab.bench.published import Posting, Published
from vswaplab.guest import GuestSpec

PRESSURES = ("memcg", "global")

# Shell text for the beginning of a script: folios of anonymous memory. By default those of 2 MB are on, and
# taken first where they fit, and those between are off.
FOLIOS_64K = """
T=/sys/kernel/mm/transparent_hugepage
echo never > $T/enabled && echo always > $T/hugepages-64kB/enabled || fail "this kernel has no folios of 64 KB"
"""
FOLIOS_2M = """
echo always > /sys/kernel/mm/transparent_hugepage/enabled || fail "this kernel has no huge pages"
"""


class Unverified(Exception):
    """The workload did not do what it was to do; the text says what is wrong."""


@dataclass(frozen=True)
class Metric:
    """A figure of a suite; every good round gives all of them."""

    name: str
    unit: str
    lower_is_better: bool = True


@dataclass(frozen=True)
class Program:
    """A program of the host that a suite needs, and the Debian package that has it."""

    name: str
    package: str


@dataclass(frozen=True)
class Room:
    """What a workload gets: bytes of RAM, before it has to swap, and CPUs."""

    bytes: int
    cpus: int
    arch: str


class Suite:
    """One workload. A subclass sets the attributes and has script() and parse()."""

    name: str
    summary: str  # a line for "vswap bench --list": what it does, what it is published as
    metrics: Sequence[Metric]
    times: float = 1.0  # working set as a multiple of the room: the size rule, see working_set()
    setups: Sequence[str] = ()  # the set-ups it runs in unless told otherwise; () means the usual ones
    without: Sequence[str] = ()  # the set-ups in which it makes no sense
    mglru: bool | None = None  # unless told otherwise: on or off, or None for the kernel's default
    pressures: Sequence[str] = PRESSURES  # ("none",) for one that needs neither limit nor small machine
    arches: Sequence[str] = ("um", "x86_64")
    flavour: str = "release"  # of the kernels: see config.FLAVOURS
    timeout: float = 600.0  # seconds for a round
    faults: bool = True  # page faults may read its pages back: vm.page-cluster matters
    deterministic: bool = False  # its figures do not vary: one round says it all
    scratch: int = 0  # bytes of a second, empty disk
    programs: Sequence[Program] = ()
    postings: Sequence[Posting] = ()  # what others have published of the same work

    def working_set(self, room: Room) -> int:
        """Bytes of memory that the workload uses: the published ratio of working set to RAM."""
        return int(room.bytes * self.times) >> 12 << 12

    def prepare(self) -> None:
        """Make, on the host and before the first guest, what the rounds need; kept in the cache."""

    def adapt(self, spec: GuestSpec) -> GuestSpec:
        """Change the guest that was made for a round, for suites that need a special one."""
        return spec

    def published(self, case: Case, metric: str) -> list[Published]:
        """What others have published of a metric, as far as the case is theirs."""
        found = [posting.of(metric) for posting in self.postings if posting.fits(case)]
        return [figure for figure in found if figure]

    def script(self, room: Room) -> str:
        """Shell text for one round."""
        raise NotImplementedError

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """A value for each metric out of what the script wrote. Raises Unverified.

        KeyError, ValueError and TypeError count as a result that cannot be read.
        """
        raise NotImplementedError


def mb(size: int) -> str:
    """Bytes as whole megabytes for a program's command line: "448M"."""
    return f"{size >> 20}M"


def kb(size: int) -> str:
    """The same in whole pages, for what is divided among many: "7876K"."""
    return f"{size >> 12 << 2}K"


def answer(files: Mapping[str, str], name: str = "out.json") -> dict[str, Any]:
    """The JSON object that a program wrote. Raises Unverified when there is none."""
    try:
        found = json.loads(files[name])
    except (KeyError, json.JSONDecodeError) as error:
        raise Unverified(f"the workload left no {name}") from error
    if not isinstance(found, dict):
        raise Unverified(f"{name} is not an object")
    return found


def verified(files: Mapping[str, str], name: str = "out.json") -> dict[str, Any]:
    """The same, of a program that says "verified": true. Raises Unverified otherwise."""
    found = answer(files, name)
    if found.get("verified") is not True:
        raise Unverified(f"the data did not verify: {found.get('failure') or found.get('error') or 'wrong data'}")
    return found


def timed(files: Mapping[str, str], name: str = "time.json") -> dict[str, float]:
    """What stopwatch measured of a program that succeeded: "seconds", "user_seconds", "sys_seconds".

    Raises Unverified when the program failed.
    """
    found = answer(files, name)
    if found.get("signal") or found.get("exit_code") != 0:
        how = f"signal {found['signal']}" if found.get("signal") else f"exit code {found.get('exit_code')}"
        raise Unverified(f"the workload ended with {how}")
    return {key: float(found[key]) for key in ("seconds", "user_seconds", "sys_seconds")}
