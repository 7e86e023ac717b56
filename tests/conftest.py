# SPDX-License-Identifier: GPL-2.0
"""What all tests share: the --long option, and kernels built before the first test runs.

A test that boots a kernel says so: ``@pytest.mark.kernel("vswap", "um", "debug")``. Those of the
selected tests are built, with their progress shown, before anything runs; the fixture
``built_kernel`` then finds them ready.
"""

import argparse
import contextlib
import datetime
import shlex
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from vswaplab import paths, progress
from vswaplab.bench import kernels, sources
from vswaplab.build import edited, kbuild, workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import UsageError, VswapError
from vswaplab.stress import tally

# A shell ignores Ctrl-C in what it starts in the background, and so would the programs under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests that take minutes as well")
    parser.addoption("--build-only", action="store_true", help="build the kernels of the chosen tests and stop")
    parser.addoption(
        "--coverage", type=Path, metavar="DIR",
        help="virtual swap is tested on kernels of the flavour coverage; what they count goes to DIR",
    )  # fmt: skip
    parser.addoption(
        "--on", type=machine, metavar="ARCH-FLAVOUR",
        help="end-to-end tests of User-Mode Linux boot such kernels, as x86_64-release, and no other tests run",
    )  # fmt: skip
    parser.addoption(
        "--outcomes", type=Path, metavar="FILE", help="add what suites of others come to to this JSON file"
    )
    parser.addoption(
        "--tally", type=Path, metavar="FILE", help="add what this run of the tests comes to to this JSON file"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("tally") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Counted(config), "counted")


FLAVOURS = ("release", "debug")  # that end-to-end tests of virtual swap's behaviour ask for
ELSEWHERE = (*FLAVOURS, "bench")  # that they can run on; bench patches its static branches


def machine(text: str) -> tuple[str, str]:
    """The value of --on: (arch, flavour)."""
    with contextlib.suppress(UsageError):
        arch, flavour = kbuild.arch_and_flavour(text)
        if flavour in ELSEWHERE:
            return arch, flavour
    raise argparse.ArgumentTypeError(f"{text!r}: expected um or x86_64, and one of {', '.join(ELSEWHERE)}")


def kernel_of(config: pytest.Config, kernel: str, arch: str, flavour: str) -> tuple[str, str, str]:
    """The kernel, arch and flavour that a test gets which asks for these."""
    if flavour not in FLAVOURS:
        return kernel, arch, flavour
    if arch == "um" and config.getoption("on"):
        arch, flavour = config.getoption("on")
    return kernel, arch, "coverage" if config.getoption("coverage") and kernel == "vswap" else flavour


def runs_elsewhere(item: pytest.Item, flavour: str) -> bool:
    """Whether it is an end-to-end test that asks for kernels which --on replaces, and for no others.

    A test whose mark says checkers=True is about what debug kernels have: KUnit, or failing allocations. One
    without built_kernel boots none, or by itself the kernel that its mark names.
    """
    marks = list(item.iter_markers("kernel"))
    wanted = bool(marks) and all(arch == "um" and asked in FLAVOURS for _, arch, asked in (m.args for m in marks))
    able = flavour == "debug" or not any(mark.kwargs.get("checkers") for mark in marks)
    replaced = "built_kernel" in getattr(item, "fixturenames", ())
    return wanted and able and replaced and "e2e" in item.path.parts


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("on"):
        flavour = config.getoption("on")[1]
        config.hook.pytest_deselected(items=[item for item in items if not runs_elsewhere(item, flavour)])
        items[:] = [item for item in items if runs_elsewhere(item, flavour)]
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="takes minutes: make test-long")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skip)


def wanted_kernels(items: list[pytest.Item]) -> dict[tuple[str, str, str], bool]:
    """The kernels that the tests which are going to run ask for; whether they are to be whole.

    A mark with objects=True asks for what is compiled from edited files only.
    """
    found: dict[tuple[str, str, str], bool] = {}
    for item in items:
        if item.get_closest_marker("skip"):
            continue
        for mark in item.iter_markers("kernel"):
            kernel, arch, flavour = mark.args
            names = kernel_of(item.config, kernel, arch, flavour)
            found[names] = found.get(names, False) or not mark.kwargs.get("objects")
    return found


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.getoption("collectonly"):
        return
    try:
        for (kernel, arch, flavour), whole in wanted_kernels(session.items).items():
            with progress.shown() as shown:
                if whole:
                    kbuild.build(kernel, arch, flavour, progress=shown)
                else:
                    edited.objects(kernel, arch, shown)
    except VswapError as error:
        pytest.exit(f"{error}", returncode=error.exit_code)
    if session.config.getoption("build_only"):
        session.items.clear()


def pytest_sessionfinish(session: pytest.Session) -> None:
    built = session.config.getoption("build_only") and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if built:
        session.exitstatus = pytest.ExitCode.OK


def chosen(config: pytest.Config) -> str:
    """Which tests run, as pytest was told: a part of a file is not taken for the file."""
    words = ["--long"] if config.getoption("--long") else []
    for option in ("keyword", "markexpr"):
        if value := config.getoption(option):
            words += [f"-{option[0]}", shlex.quote(str(value))]
    words += [f"--deselect={one}" for one in config.getoption("deselect") or ()]
    words += ["--lf"] if config.getoption("lf", False) else []
    return " ".join([*words, *config.args])


class Counted:
    """Counts tests as they end, and the pages that their guests verified; the option --tally."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._start = time.monotonic()
        self._ended: Counter[str] = Counter()
        self._lost: set[str] = set()
        self._pages = 0
        self._figures: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One for each phase of a test; a test that is skipped has no call."""
        if report.failed:
            self._lost.add(report.nodeid.removeprefix("tests/"))
        elif report.when == "call" or report.skipped:
            self._ended[report.outcome] += 1
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == "pages":
                    self._pages += int(str(value))
                elif name.startswith(tally.FIGURE):
                    self._figures[name.removeprefix(tally.FIGURE)] += int(str(value))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Runs that were interrupted, or ended at the first failure, are not kept."""
        config = self._config
        if config.getoption("build_only") or config.getoption("collectonly"):
            return
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if not ended or session.shouldstop or session.shouldfail:
            return
        seconds = round(time.monotonic() - self._start, 1)
        on = config.getoption("on")
        run = tally.Tally(
            chosen(config), "-".join(on) if on else "as marked", self._ended["passed"], self._ended["skipped"],
            sorted(self._lost), self._pages, seconds, sources.of_lab("vswap")[:12],
            datetime.date.today().isoformat(), dict(self._figures),
        )  # fmt: skip
        tally.add(config.getoption("tally"), run)


@pytest.fixture(scope="session")
def built_kernel(pytestconfig: pytest.Config) -> Callable[[str, str, str], BuiltKernel]:
    """Build a kernel, or return the one built before from the same inputs."""
    return lambda kernel, arch, flavour: kbuild.build(*kernel_of(pytestconfig, kernel, arch, flavour))


@pytest.fixture(scope="session")
def workload_dir() -> Path:
    """The directory with the static guest programs."""
    return workloads.build()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; nothing a test does reaches the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return paths.cache_dir()


@pytest.fixture
def nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that gets as far as the kernel fails its test."""

    def get(*_words: object, **_options: object) -> None:
        raise AssertionError("a kernel was asked for")

    monkeypatch.setattr(kernels, "get", get)
