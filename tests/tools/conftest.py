# SPDX-License-Identifier: GPL-2.0
"""Run vswapctl in this process, on a fake machine."""

import builtins
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.tools import fakes
from vswapctl import cli


class Ran(Protocol):
    """The fixture ctl."""

    def __call__(self, root: Path, *words: str) -> tuple[int, str, str]:
        """Exit code, output, errors."""


def refuse_to_open(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    """Files whose path has one of the parts need root. Tests may run as root, whom no mode stops."""
    real = builtins.open

    def refusing(path: Any, *args: Any, **kwargs: Any) -> Any:
        if any(part in str(path) for part in parts):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", refusing)


@pytest.fixture
def ctl(capsys: pytest.CaptureFixture[str]) -> Iterator[Ran]:
    """ctl(root, words...) -> exit code, stdout, stderr. Signals are as before at the end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(root: Path, *words: str) -> tuple[int, str, str]:
        code = cli.main(["--root", str(root), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A machine with virtual swap."""
    return fakes.ours(tmp_path)


@pytest.fixture(params=sorted(fakes.MACHINES))
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each of the machines."""
    make: Callable[[Path], Path] = fakes.MACHINES[request.param]
    return make(tmp_path)
