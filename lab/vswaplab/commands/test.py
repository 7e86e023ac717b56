# SPDX-License-Identifier: GPL-2.0
"""Build what the tests need and run them. Arguments it does not know go to pytest.

pytest runs twice: once to build the kernels that the chosen tests boot, and only those (see
tests/conftest.py), with the progress shown; then to run the tests, as many files at a
time as there are CPUs for. The last line printed is pytest's summary.
"""

import argparse
import os
import subprocess
import sys

from vswaplab import paths

# What others wrote, and the file here that runs it.
SUITES = {
    "cgroup": "tests/e2e/test_selftests_cgroup.py",  # tools/testing/selftests/cgroup
    "mm": "tests/e2e/test_selftests_mm.py",  # tools/testing/selftests/mm
    "zram": "tests/e2e/test_selftests_zram.py",  # tools/testing/selftests/zram
    "stress-ng": "tests/e2e/test_stress_ng.py",  # of Debian
}

REST = "pytest"  # the attribute that takes the arguments this command does not know


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of "vswap test"."""
    parser.add_argument("--long", action="store_true", help="run the tests that take minutes as well")
    parser.add_argument(
        "--suite", choices=SUITES, action="append", default=[],
        help="tests that others wrote, unmodified, on mainline and with virtual swap; may be given several times",
    )  # fmt: skip
    parser.epilog = "Everything else goes to pytest: paths, -k, -x, --collect-only, ..."


# Not a run of all tests side by side: the user looks at one, or has said how many at a time.
ONE_AT_A_TIME = ("--numprocesses", "--pdb", "--collect-only", "--co", "--trace")


def side_by_side(arguments: list[str], cpus: int) -> list[str]:
    """What makes pytest run a test file on each CPU; nothing if the arguments speak against it.

    With ``--on x86_64-...`` each guest is emulated with two CPUs or more, and takes two: one that waits for the
    other guest's CPU would miss its times.
    """
    if any(
        argument.startswith(("-n", "-s")) or argument.partition("=")[0] in ONE_AT_A_TIME for argument in arguments
    ):
        return []
    emulated = any(argument.removeprefix("--on=").startswith("x86_64-") for argument in arguments)
    return ["-n", str(max(1, cpus // 2)) if emulated else "auto", "--maxprocesses", "4", "--dist", "loadscope"]


def main(args: argparse.Namespace) -> int:
    """Become pytest, in the repository's top directory; its exit code is the command's."""
    pytest = [sys.executable, "-m", "pytest"]
    suites = [SUITES[name] for name in args.suite]
    chosen = [*(["--long"] if args.long or suites else []), *suites, *args.pytest]
    os.chdir(paths.repo_root())
    sys.stdout.flush()
    parallel = side_by_side(args.pytest, len(os.sched_getaffinity(0)))
    if parallel:
        code = subprocess.run([*pytest, *chosen, "--build-only"], check=False).returncode
        if code:
            return code
    os.execv(sys.executable, [*pytest, *chosen, *parallel])
