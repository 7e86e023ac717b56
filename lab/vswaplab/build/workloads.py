# SPDX-License-Identifier: GPL-2.0
"""Builds the static programs that run in a guest, once per state of their sources."""

from collections.abc import Sequence
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import BuildError, ToolError
from vswaplab.proc import SYSTEM, Runner

COMPILER = "gcc"
LIMIT_SECONDS = 300.0


def sources(directory: Path) -> list[Path]:
    """The files in and below ``directory`` that a build depends on, in a fixed order."""
    found = (path for kind in ("Makefile", "*.mk", "*.c", "*.h") for path in directory.rglob(kind))
    return sorted(path for path in found if path.is_file())


def fingerprint(directories: Sequence[Path], compiler: str) -> str:
    """A name for the result of compiling ``directories`` with the compiler that calls itself ``compiler``."""
    files = (
        (str(path.relative_to(directory)), path.read_bytes())
        for directory in directories
        for path in sources(directory)
    )
    return hashing.of_contents([(compiler, b""), *files])[:20]


def _compile(directory: Path, out: Path, runner: Runner) -> None:
    argv = ["make", "-C", str(directory), f"OUT={out}", f"CC={COMPILER}"]
    result = runner.run(argv, env=paths.MAKE_ENV, check=False, timeout=LIMIT_SECONDS)
    if result.returncode != 0:
        errors = [line for line in result.stderr.splitlines() if "error" in line]
        raise BuildError(f"the guest programs do not compile: {(errors or [result.last_line()])[0]}")


def build(*, runner: Runner = SYSTEM) -> Path:
    """The directory with the static programs: the workloads and guest-init.

    Compiled only if no earlier build had the same sources and compiler. Raises BuildError when they
    do not compile, or when make or the compiler is missing.
    """
    directories = [paths.workloads_dir(), paths.guest_init_dir()]
    cache = paths.cache_dir() / "workloads"
    try:
        compiler = runner.run([COMPILER, "--version"], timeout=LIMIT_SECONDS).stdout
        out = cache / fingerprint(directories, compiler)
        with paths.locked(cache / ".lock"):
            if not out.is_dir():
                with paths.atomic_dir(out) as temporary:
                    for directory in directories:
                        _compile(directory, temporary, runner)
    except ToolError as error:
        raise BuildError(f"cannot build the guest programs: {error}") from error
    return out
