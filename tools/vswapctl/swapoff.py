# SPDX-License-Identifier: GPL-2.0
"""swapoff(2) in a process of its own, so that the other can show how far it is, and stop it."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

Call = Callable[[str], int]  # a device; 0 or an error number
POLL = 0.2
SIGNALS: set[int] = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


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
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        code = min(call(path), 254)
    finally:
        os._exit(code)


def _ended(pid: int, options: int) -> int | None:
    """The error number of a child that has ended, negative for a signal, or None."""
    found, status = os.waitpid(pid, options)
    return os.waitstatus_to_exitcode(status) if found else None


def _start(call: Call, path: str) -> int:
    """The child that makes the call; its process id."""
    # Until the child has its own handlers: it must not take a Ctrl-C for one of its parent's.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    pid = os.fork()
    if pid == 0:
        _child(call, path)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return pid


def _watch(pid: int, progress: Callable[[], None], caught: list[int]) -> int:
    """How the child ended, which is asked to as soon as a signal was caught."""
    code = None
    try:
        while code is None and not caught:
            code = _ended(pid, os.WNOHANG)
            if code is None:
                progress()
                time.sleep(POLL)
    finally:
        if code is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGTERM)
            code = _ended(pid, 0)
    assert code is not None
    return code


def run(path: str, call: Call, progress: Callable[[], None]) -> int:
    """Returns 0 or an error number; calls ``progress`` now and then. Main thread only.

    A signal interrupts the system call first, and the kernel then leaves the device in use. After
    that it does what it would have done (KeyboardInterrupt).
    """
    # The handlers do not raise: an exception is lost if it comes while an object is finalised.
    caught: list[int] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, lambda number, _frame: caught.append(number))
    try:
        code = _watch(_start(call, path), progress, caught)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if caught:
        handler = handlers[caught[0]]
        if callable(handler):
            handler(caught[0], None)
        else:
            signal.raise_signal(caught[0])
    return code
