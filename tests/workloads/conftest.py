# SPDX-License-Identifier: GPL-2.0
"""The guest programs, tried on the host at small sizes."""

import json
import resource
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vswaplab.build import workloads

LIMIT_SECONDS = 120.0
# No mistake in a test may take the host's memory.
LIMIT_BYTES = 2 << 30


@dataclass(frozen=True)
class Ran:
    """How a guest program ended."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """Its standard output as one JSON object."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Program = Callable[..., Ran]


def limit_memory() -> None:
    """Called in a child before it becomes the program."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


def run_program(path: Path, *args: str, limited: bool = True) -> Ran:
    """Run one of the programs to its end; its address space is ``limited`` to LIMIT_BYTES."""
    done = subprocess.run(
        [str(path), *args],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        preexec_fn=limit_memory if limited else None,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def programs() -> Path:
    """The directory with the static programs."""
    return workloads.build()


@pytest.fixture
def swapcheck(programs: Path) -> Program:
    """Run swapcheck with these arguments."""
    return lambda *args: run_program(programs / "swapcheck", *args)


@pytest.fixture
def usemem(programs: Path) -> Program:
    """Run usemem with these arguments."""
    return lambda *args: run_program(programs / "usemem", *args)


@pytest.fixture
def run() -> Program:
    """Run the program at a path with these arguments (see run_program)."""
    return run_program
