# SPDX-License-Identifier: GPL-2.0
"""The classes of docs/reliability.md: what belongs to each, and the commands that run it."""

from collections.abc import Sequence
from dataclasses import dataclass

from vswaplab.stress.record import Record
from vswaplab.stress.tally import Tally
from vswaplab.stress.trial import TRIALS

_TALLY = "--tally docs/reliability/tests.json"
_STRESS = "./vswap stress --record docs/reliability/trials"


@dataclass(frozen=True)
class Class:
    """``files`` are what a run of our tests was told to run, at least, or with ``apart`` one of them.
    ``machines`` are beginnings of what they booted. ``trials`` are those of any kernel, ``flavours`` those
    whose trials all count. ``found_by`` are what found.toml calls it, beside its name. ``counts`` are figures of
    its runs and trials that are summed. ``special``: its figures come from a file of their own.
    """

    name: str
    what: str
    commands: Sequence[str]
    files: Sequence[str] = ()
    apart: bool = False
    machines: Sequence[str] = ("as marked", "um", "x86_64")
    trials: Sequence[str] = ()
    flavours: Sequence[str] = ()
    found_by: Sequence[str] = ()
    counts: Sequence[str] = ()
    special: str = ""

    def has_run(self, run: Tally) -> bool:
        """Whether this run of our tests is one of the class."""
        told = [name in run.files for name in self.files]
        known = any(told) if self.apart else bool(told) and all(told)
        return known and run.machine.startswith(tuple(self.machines))

    def has_trial(self, record: Record) -> bool:
        """Whether this guest is one of the class."""
        return record.trial in self.trials or record.flavour in self.flavours


def _tests(*files: str) -> str:
    return f"./vswap test --long {_TALLY} {' '.join(files)}"


_CONFIGURATIONS = (
    *(f"tests/e2e/test_{name}.py" for name in ("minimal", "preempt", "rt", "kcsan", "off")),
    "tests/lab/test_randconfig.py",
)
_FAULTS = ("tests/e2e/test_faults.py", "tests/e2e/test_device.py", "tests/e2e/test_slow_device.py")
# What x86-64 debug kernels are tested with, a run for each. Most need virtual swap's kernel only; "edges", "oom",
# "promises", "refusal", "selftests_cgroup", "slow_device" and "ctl_mainline" need mainline's as well, "off" it and
# the one without CONFIG_VSWAP.
_CHECKED = tuple(
    f"tests/e2e/test_{name}.py"
    for name in ("kunit", "memcg", "tables_charged", "compact", "metadata", "security", "toggles", "modes",
                 "edges", "lookup", "entries", "fragmentation", "vswapctl", "ctl_drain", "ctl_export",
                 "ctl_top", "ctl_unprivileged", "ctl_mainline", "oom", "promises", "refusal", "slow_device", "off",
                 "stress", "faults", "device", "selftests_cgroup")
)
_FOLIOS, _SECURITY, _ENTRIES = (f"tests/e2e/test_{name}.py" for name in ("large_folios", "security", "entries"))

CLASSES = (
    Class(
        "All tests", "Everything in `tests/`, each test on the kernel that it asks for, most of them on User-Mode"
        " Linux with the checkers on. Without `--long`, tests that take minutes are skipped.",
        (_tests("tests"),), files=("tests",), machines=("as marked",), found_by=("long test",),
    ),
    Class(
        "x86-64", "The end-to-end tests of User-Mode Linux on x86-64 under QEMU: two processors, huge pages,"
        " also without CONFIG_VSWAP. With the checkers on, which QEMU makes slow, some files of them.",
        (f"./vswap test --on x86_64-release {_TALLY} tests/e2e",
         *(f"./vswap test --on x86_64-debug {_TALLY} {name}" for name in _CHECKED)),
        files=("tests/e2e", *_CHECKED), apart=True, machines=("x86_64",),
    ),
    Class(
        "Stress", "Swapping and verifying while everything around changes: all trials, see below.",
        (f"{_STRESS}/x86_64-debug.json --on x86_64-debug --time 2h",
         f"{_STRESS}/um-release.json --on um-release --time 2h"),
        trials=tuple(trial.name for trial in TRIALS), found_by=("trial",),
    ),
    Class(
        "Configurations", "Without memory control groups and the second processor, preempted, with PREEMPT_RT,"
        " without huge pages, with KCSAN; without CONFIG_VSWAP and without zswap; version 1 of control groups;"
        " random configurations, compiled only. KASAN is on in all debug kernels. 32-bit kernels do not offer it.",
        tuple(map(_tests, _CONFIGURATIONS)), files=_CONFIGURATIONS, apart=True,  # hours, together
    ),
    Class(
        "Large folios", "From 16 KB to 2 MB, anonymous and shared: out whole, in pieces, mixed, split, back.",
        (_tests(_FOLIOS, _ENTRIES), f"{_STRESS}/x86_64-debug.json --on x86_64-debug --trial folios --time 30m"),
        files=(_FOLIOS, _ENTRIES), trials=("folios",),
    ),
    Class(
        "Tests of others", "Unmodified, on mainline and with virtual swap.",
        ("./vswap test --suite cgroup --suite mm --suite zram --suite stress-ng"
         " --outcomes docs/reliability/suites.json",),
        found_by=("selftests/cgroup", "selftests/mm", "selftests/zram", "stress-ng"), special="suites",
    ),
    Class(
        "Concurrency", "Trials on kernels that look for races of data (KCSAN) or sleep in locks (PREEMPT_RT, two"
        " nodes of memory), and while processors and memory come and go. Debug kernels have lockdep.",
        (f"{_STRESS}/x86_64-kcsan.json --on x86_64-kcsan --time 30m",
         f"{_STRESS}/x86_64-rt.json --on x86_64-rt --time 30m",
         f"{_STRESS}/x86_64-debug.json --on x86_64-debug --trial hot-plug --time 30m"),
        trials=("hot-plug",), flavours=("kcsan", "rt"), found_by=("kcsan", "lockdep"),
    ),
    Class(
        "Faults", "Allocations and I/O fail; the device hangs, vanishes, is full; processes die; bad inputs.",
        (_tests(*_FAULTS),
         f"{_STRESS}/um-debug.json --on um-debug --trial 'allocations fail' --trial 'I/O errors' --trial deaths"
         " --trial 'bad inputs' --time 30m"),
        files=_FAULTS, trials=("allocations fail", "I/O errors", "deaths", "bad inputs"),
        counts=("failslab faults", "fail_page_alloc faults", "fail_make_request faults", "killed", "OOM kills",
                "files, refused", "files, taken", "swap headers, refused", "swap headers, taken"),
    ),
    Class(
        "Isolation", "What one group gets done beside another that does its worst, against the same on mainline"
        " with a swap file. Limits must hold, and the bystander's data is compared. x86-64, instructions as time.",
        ("./vswap bench isolation isolation-full --arch x86_64 --cpus 1 --page-cluster 0 --rounds 12"
         " --json docs/reliability/isolation.json",),
        special="isolation",
    ),
    Class(
        "Security", "What a process without privileges sees of positions, pointers and the data of others.",
        (_tests(_SECURITY),), files=(_SECURITY,),
    ),
    Class(
        "Coverage", "Lines of virtual swap that the tests run, by gcov, on User-Mode Linux and x86-64.",
        ("./vswap test --coverage COVERAGE tests/e2e",
         "./vswap test --coverage COVERAGE --on x86_64-release tests/e2e",
         "./vswap coverage COVERAGE --json docs/reliability/coverage.json"),
        special="coverage",
    ),
    Class(
        "Model check", "A model of a backing's life, searched by spin, and bugs put into it that it must find.",
        (_tests("tests/model"),), files=("tests/model",), found_by=("model",),
    ),
)  # fmt: skip
