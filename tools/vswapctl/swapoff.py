# SPDX-License-Identifier: GPL-2.0
"""swapoff(2) in a process of its own, so that the other can show how far it is, and stop it."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

Call = Callable[[str], int]  # a device; 0 or an error number
POLL = 0.2
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def system_call(path: str) -> int:
    """swapoff(2); returns 0 or the error number."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.swapoff(os.fsencode(path)) == 0 else ctypes.get_errno()


def _child(call: Call, path: str) -> None:
    """Never returns. A terminal's Ctrl-C goes to the parent alone, which asks with SIGTERM."""
    code = 255
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        code = min(call(path), 254)
    finally:
        os._exit(code)


def _ended(pid: int, options: int) -> int | None:
    """The error number of a child that has ended, negative for a signal, or None."""
    found, status = os.waitpid(pid, options)
    return os.waitstatus_to_exitcode(status) if found else None


def run(path: str, call: Call, progress: Callable[[], None]) -> int:
    """Returns 0 or an error number; calls ``progress`` now and then.

    Raises what interrupts it (KeyboardInterrupt), after the system call has been interrupted: the
    kernel then leaves the device in use.
    """
    # Until the child has its own handlers: it must not take a Ctrl-C for one of its parent's.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    pid = os.fork()
    if pid == 0:
        _child(call, path)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while True:
            code = _ended(pid, os.WNOHANG)
            if code is not None:
                return code
            progress()
            time.sleep(POLL)
    except BaseException:
        with suppress(ProcessLookupError, ChildProcessError):  # it has just ended
            os.kill(pid, signal.SIGTERM)
            _ended(pid, 0)
        raise
