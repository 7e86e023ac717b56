# SPDX-License-Identifier: GPL-2.0
"""The one place from which the lab starts other programs.

Commands are lists, never shell text. A child gets its own process group, which is killed
when the lab is interrupted or a time limit passes, so that nothing is left running.
"""

import logging
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vswaplab.errors import ToolError

log = logging.getLogger("vswap")
GRACE = 5.0  # seconds


@dataclass(frozen=True)
class Result:
    """How a program ended; ``stdout`` and ``stderr`` are what it printed."""

    argv: Sequence[str]
    returncode: int
    stdout: str = ""
    stderr: str = ""

    def last_line(self) -> str:
        """The last line it said, on stderr if there is one: usually the reason it failed."""
        lines = [line for line in (self.stdout + "\n" + self.stderr).splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"exit status {self.returncode}"


class Runner(Protocol):
    """What library code needs of the outside world; tests pass a recording fake."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        check: bool = True,
        on_line: Callable[[str], None] | None = None,
    ) -> Result:
        """Run ``argv`` to its end, ``env`` added to the environment.

        With ``on_line`` every line of its output (stderr mixed in) goes there as it comes and
        is not kept. ``timeout`` is in seconds. Raises ToolError when the program is missing or
        the time is over, and, with ``check``, when it returns anything but 0.
        """
        ...


# They name a repository that is not the lab's business: git sets them for hooks, above all in worktrees.
_OF_A_REPOSITORY = re.compile(
    r"GIT_(?:DIR|COMMON_DIR|WORK_TREE|IMPLICIT_WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|PREFIX|SHALLOW_FILE"
    r"|ALTERNATE_OBJECT_DIRECTORIES|GRAFT_FILE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|CONFIG\w*)"
)


def _inherited() -> dict[str, str]:
    """The environment that children start from."""
    return {name: value for name, value in os.environ.items() if not _OF_A_REPOSITORY.fullmatch(name)}


def quoted(argv: Sequence[str]) -> str:
    """The command as one would type it."""
    return shlex.join(argv)


def _signal_group(process: "subprocess.Popen[str]", number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def kill_group(process: "subprocess.Popen[str]") -> None:
    """End a child that leads its own process group, and everything it started.

    It may clean up first for GRACE seconds: make removes half-written targets, apt marks an
    incomplete download so that it can be resumed.
    """
    _signal_group(process, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _communicate(
    process: "subprocess.Popen[str]",
    stdin: str | None,
    timeout: float | None,
    on_line: Callable[[str], None] | None,
) -> tuple[str, str]:
    """Feed and drain the child; with ``on_line`` nothing is collected."""
    if on_line is None:
        out, err = process.communicate(stdin, timeout)
        return out or "", err or ""
    assert process.stdout is not None
    late = threading.Event()

    def expire() -> None:
        late.set()
        kill_group(process)

    timer = threading.Timer(timeout, expire) if timeout is not None else None
    if timer:
        timer.daemon = True
        timer.start()
    try:
        for line in process.stdout:
            on_line(line.rstrip("\n"))
        process.wait()
    finally:
        if timer:
            timer.cancel()
    if late.is_set():
        raise subprocess.TimeoutExpired(process.args, timeout or 0)
    return "", ""


class SystemRunner:
    """The Runner that really starts programs."""

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        check: bool = True,
        on_line: Callable[[str], None] | None = None,
    ) -> Result:
        """See Runner.run()."""
        log.info("+ %s", quoted(argv))
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**_inherited(), **(env or {})},
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if on_line else subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise ToolError(f"{argv[0]} is not installed, or {cwd} is not there") from error
        try:
            out, err = _communicate(process, stdin, timeout, on_line)
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"{argv[0]} took longer than {timeout:g} s: {quoted(argv)}") from error
        finally:
            if process.poll() is None:
                kill_group(process)
        result = Result(argv, process.returncode, out, err)
        if check and result.returncode != 0:
            raise ToolError(f"{quoted(argv)} failed: {result.last_line()}")
        return result


SYSTEM: Runner = SystemRunner()
