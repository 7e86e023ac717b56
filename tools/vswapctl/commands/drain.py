# SPDX-License-Identifier: GPL-2.0
"""vswapctl drain"""

import argparse
import errno
import os
import signal
import sys
import time

from vswapctl import snapshot, swapoff
from vswapctl.drainroom import room
from vswapctl.errors import OK, CannotRead, CtlError, UsageError
from vswapctl.kernel import Kernel
from vswapctl.parser import terminal_width
from vswapctl.swaps import DELETED, Device, deleted, devices
from vswapctl.units import percent, printable, seconds, size


def find(kernel: Kernel, name: str) -> Device:
    """The active swap device that a path means; links are followed."""
    active = devices(kernel)
    same = {os.path.abspath(name), os.path.realpath(name)}
    gone = [device for device in active if deleted(kernel, device)]
    for device in active:
        if device.name in same and device not in gone:
            return device
    for device in gone:
        if same & {device.name, device.name.removesuffix(DELETED)}:
            raise CtlError(
                f"{printable(device.name)}: the file was deleted while it was in use, and swapoff cannot name it; "
                "only a reboot frees it"
            )
    names = ", ".join(printable(device.name) for device in active) or "none"
    raise UsageError(f"{printable(name)} is no active swap device; there are: {names}")


class Progress:
    """How much of a device is left: one line that is rewritten on a terminal, one every 5 s elsewhere."""

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.kernel, self.device = kernel, device
        self.start = self.said = time.monotonic()
        self.terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"

    def left(self) -> int | None:
        """Bytes still in use; None once it is no swap device any longer."""
        found = [device.used for device in devices(self.kernel) if device.name == self.device.name]
        return found[0] if found else None

    def line(self, left: int, elapsed: float) -> str:
        """Moved, rate, time left."""
        moved = max(0, self.device.used - left)
        rate = moved / elapsed if elapsed > 0 else 0.0
        rest = f"{seconds(left / rate)} left" if rate else "time left unknown"
        share = percent(moved, self.device.used)
        return f"{size(moved)} of {size(self.device.used)} ({share}), {size(rate)}/s, {rest}"

    def __call__(self) -> None:
        """Show it, if it is time."""
        now, left = time.monotonic(), self.left()
        if left is None or not (self.terminal or now - self.said >= 5):
            return
        self.said = now
        text = self.line(left, now - self.start)
        if self.terminal:
            # A line that wraps could not be rewritten.
            print(f"\r\x1b[K{text[: terminal_width() - 1]}", end="", flush=True)
        else:
            print(text, flush=True)

    def end(self) -> None:
        """Leave the rewritten line."""
        if self.terminal:
            print()


def refuse(kernel: Kernel, device: Device, code: int) -> CtlError:
    """What an error number of swapoff(2) means here."""
    name = printable(device.name)
    if code == errno.EPERM:
        return CannotRead(f"swapoff needs root: sudo vswapctl drain {name}")
    # Whoever calls swapoff(2) is the first that the OOM killer takes.
    if code in (errno.ENOMEM, -signal.SIGKILL):
        return CtlError(
            f"no room for all of {name}: it stays in use; end programs or add swap, then run this again"
        )
    if code in (errno.EINTR, -15):
        return CtlError(f"swapoff of {name} was interrupted by a signal: it stays in use; run this again to go on")
    if code == errno.EINVAL:
        return CtlError(f"{name} is no swap device any longer; see {kernel.path('/proc/swaps')}")
    reason = os.strerror(code) if 0 < code < 255 else f"status {code}"
    return CtlError(f"swapoff of {name} failed: {reason}; see dmesg")


def run(args: argparse.Namespace, kernel: Kernel, call: swapoff.Call = swapoff.system_call) -> int:
    """Check, then swapoff with progress."""
    snap = snapshot.take(kernel)
    device = find(kernel, args.device)
    name, space = printable(device.name), room(snap, device)
    print(
        f"{name}: {size(device.used)} to move; room for {size(space.all)}: {size(space.zswap)} in zswap, "
        f"{size(space.devices)} on other devices, {size(space.ram)} in RAM",
        flush=True,
    )
    if device.used > space.all and not args.force:
        raise CtlError(f"not enough room for what is on {name}: end programs, add swap, or use --force")
    if args.dry_run:
        return OK
    if kernel.root != "/" and call is swapoff.system_call:
        raise UsageError("--root shows another machine's files: only --dry-run makes sense with it")
    progress = Progress(kernel, device)
    try:
        code = swapoff.run(device.name, call, progress)
    except KeyboardInterrupt:
        progress.end()
        left = progress.left()
        if left is None:
            print(f"{name} is no swap device any longer: it was done")
        else:
            print(f"{name} is still in use and fully usable, {size(left)} are left on it; run this again to go on")
        raise
    progress.end()
    if code:
        raise refuse(kernel, device, code)
    print(f"{name} is no swap device any longer, after {seconds(time.monotonic() - progress.start)}")
    return OK
