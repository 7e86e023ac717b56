# SPDX-License-Identifier: GPL-2.0
"""Boots a guest, follows it to its end within a time limit, and leaves nothing behind."""

import contextlib
import fcntl
import logging
import os
import re
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Self

from vswaplab import paths
from vswaplab.build import workloads
from vswaplab.errors import ToolError
from vswaplab.guest import splats
from vswaplab.guest.events import BadEvent, Collector
from vswaplab.guest.host import HostWatch
from vswaplab.guest.machine import Files, Launch, Machine, scratch_device
from vswaplab.guest.qemu import Qemu
from vswaplab.guest.spec import GRACE, GuestResult, GuestSpec, Swap, parse_swap
from vswaplab.guest.um import UserModeLinux
from vswaplab.proc import SYSTEM, quoted

log = logging.getLogger("vswap")

STEP = 0.1  # seconds between two looks at the machine and the clock
PIPE_BYTES = 1 << 20
CONSOLE_MAX = 64 << 20  # bytes of the console that are read back: its end is what counts
_F_SETPIPE_SZ = 1031
SBIN = "/usr/local/sbin:/usr/sbin:/sbin"  # not in every user's PATH
# What guest-init prints when it gives up, also before it has a channel.
_LAST_WORDS = re.compile(r"^(?:\[[^]]*\] )?guest-init: (.*)$", re.MULTILINE)


def machine_for(arch: str) -> Machine:
    """The way to run a kernel of this architecture."""
    return UserModeLinux() if arch == "um" else Qemu()


def job_text(spec: GuestSpec, machine: Machine, swap: Swap) -> str:
    """The file "job" that guest-init reads; see guest/init/init.h."""
    devices = {
        "none": "none",
        "file": f"disk {machine.disk}",
        "zram": f"zram {swap.bytes}",
        "ram": "disk /dev/ram0",
    }
    lines = [
        f"channel {machine.channel}",
        f"zswap {int(spec.zswap)}",
        f"swap {devices[swap.kind]}",
        f"sample_ms {spec.sample_ms}",
        f"leak_pause {spec.leak_pause}",
        f"cgroup {spec.cgroup}",
        f"restart {int(machine.restart)}",
    ]
    if spec.compressor is not None:
        lines.append(f"compressor {spec.compressor}")
    if spec.pool_percent is not None:
        lines.append(f"pool_percent {spec.pool_percent}")
    if spec.scratch_mounted:
        lines.append(f"scratch {scratch_device(machine, swap)}")
    if spec.results is not None:
        lines.append("all_results 1")
    if spec.time_limit:
        lines.append(f"time_limit {spec.time_limit}")
    return "\n".join(lines) + "\n"


def scratch_type(config: Path) -> str:
    """The file system for a scratch disk: ext4 if the kernel of this .config has it, else (or unknown) ext2."""
    known = config.is_file() and "CONFIG_EXT4_FS=y" in config.read_text().splitlines()
    return "ext4" if known else "ext2"


def _make_file_system(disk: Path, kind: str) -> None:
    """An empty one in a sparse file, which stays sparse. Raises ToolError."""
    program = shutil.which("mke2fs", path=f"{os.environ.get('PATH', os.defpath)}:{SBIN}")
    if program is None:
        raise ToolError("mke2fs is not installed (Debian: e2fsprogs)")
    # No journal: nothing is read after a crash. Inode tables are holes, and nobody has to zero them later.
    features = ["-O", "^has_journal"] if kind == "ext4" else []
    SYSTEM.run([program, "-q", "-F", "-t", kind, *features, "-m", "0", "-E", "lazy_itable_init=0", str(disk)])


def _prepare(spec: GuestSpec, machine: Machine, files: Files) -> None:
    swap = parse_swap(spec.swap)
    (files.dir / "job").write_text(job_text(spec, machine, swap))
    (files.dir / "script").write_text(spec.script)
    sizes = {files.disk: swap.bytes if swap.kind == "file" else 0, files.scratch: spec.scratch}
    for path, size in sizes.items():
        if size:
            with path.open("wb") as disk:
                disk.truncate(size)
    if spec.scratch_mounted:
        _make_file_system(files.scratch, scratch_type(spec.kernel.config))


def guarded(argv: list[str]) -> list[str]:
    """The command, made to die with this process and to dump no core. Raises ToolError."""
    for tool in ("setpriv", "prlimit"):
        if shutil.which(tool) is None:
            raise ToolError(f"{tool} is not installed (Debian: util-linux)")
    return ["setpriv", "--pdeathsig", "KILL", "prlimit", "--core=0", "--", *argv]


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the machine with everything it started, and wait for it.

    Called before the machine is waited for, so that its number cannot be another's already.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class HeldSignals:
    """Keeps the signals that end this program from doing so until they are released.

    What Popen starts is ours to kill, and it may run before Popen has returned.
    """

    def __init__(self) -> None:
        self._arrived: list[int] = []
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(number)
            if callable(handler):  # neither ignored nor the default
                self._handlers[number] = handler
                signal.signal(number, lambda arrived, _frame: self._arrived.append(arrived))

    def release(self) -> None:
        """Let them come again; those that came meanwhile are handled now."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for number in self._arrived:
            signal.raise_signal(number)


class _Tidying:
    """A block at the end of which nothing may be left: from tidy() on, signals wait for its end."""

    def __init__(self) -> None:
        self._held: HeldSignals | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._held:
            self._held.release()

    def tidy(self) -> None:
        """Said before everything that must not be interrupted."""
        self._held = self._held or HeldSignals()


@contextlib.contextmanager
def _started(launch: Launch, files: Files, tidying: _Tidying) -> Iterator["subprocess.Popen[bytes]"]:
    """The running machine; when the block ends, by whatever, nothing of it is left."""
    log.info("+ %s", quoted(launch.argv))
    argv = guarded(launch.argv)
    if shutil.which(launch.argv[0]) is None:
        raise ToolError(f"{launch.argv[0]} is not there, or not a program")
    output = files.console if launch.stdout_is_console else files.messages
    with output.open("wb") as stream:
        signals = HeldSignals()
        try:
            process = subprocess.Popen(
                argv,
                cwd=files.dir,
                env={**os.environ, **launch.env},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                pass_fds=(files.result_fd,),
                start_new_session=True,
            )
        except BaseException:
            signals.release()
            raise
    try:
        signals.release()
        yield process
    finally:
        tidying.tidy()
        end_group(process)


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether it has ended; leaves it to be waited for (see end_group())."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _drain(channel: int, collector: Collector) -> bool:
    """Take what is there. Returns whether there was anything."""
    found = False
    with contextlib.suppress(BlockingIOError):
        while data := os.read(channel, 1 << 16):
            collector.feed(data)
            found = True
    return found


def _follow(
    process: "subprocess.Popen[bytes]", channel: int, deadline: float, collector: Collector, host: HostWatch
) -> bool:
    """Until the machine has ended (True) or its time is over (False).

    A guest that sends its results because its time is over may go on while something comes.
    """
    while not (ended := _has_ended(process)) and (left := deadline - time.monotonic()) > 0:
        select.select([channel], [], [], min(STEP, left))
        host.look()
        if _drain(channel, collector) and collector.out_of_time:
            deadline = time.monotonic() + GRACE
    _drain(channel, collector)
    return ended and not collector.out_of_time


def _read_console(files: Files) -> str:
    """The end of the console, and before it what the emulator itself had to say."""
    text = ""
    for path in (files.messages, files.console):
        if path.is_file():
            with path.open("rb") as stream:
                stream.seek(max(0, path.stat().st_size - CONSOLE_MAX))
                text += stream.read().decode(errors="replace").replace("\r\n", "\n")
    return text


def judge(result: GuestResult, in_time: bool, bye: bool) -> None:
    """Set the status, the splats, the races and the OOM kills from the console and the way it ended."""
    result.splats = splats.find(result.console)
    result.other_races = splats.other_races(result.console)
    result.oom_kills = splats.oom_kills(result.console)
    if result.verify_violations:
        result.splats.append(f"vswap verify: {result.verify_violations} violations")
    result.splats += splats.find_leaks(result.leaks or "")
    if result.status == "refused":
        return
    if result.error is None and not bye and (said := _LAST_WORDS.search(result.console)):
        result.error = said[1].strip()
    if splats.panicked(result.console):
        result.status = "panic"
    elif not in_time:
        result.status = "timeout"
    else:
        result.status = "ok" if bye and result.error is None else "lost"


@contextlib.contextmanager
def _channel() -> Iterator[tuple[int, int]]:
    """Both ends of the channel: a pipe, large and not waited for on our side."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    ends = [reader, writer]
    try:
        with contextlib.suppress(PermissionError):  # beyond the user's limit: keep the default
            fcntl.fcntl(reader, _F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(reader, False)
        yield reader, writer
    finally:
        for end in ends:
            os.close(end)


def _run(
    spec: GuestSpec, machine: Machine, directory: Path, init: Path, collector: Collector, tidying: _Tidying
) -> bool:
    """Boot it and follow it. True if it ended in time."""
    with _channel() as (reader, writer):
        files = Files(directory, init, writer)
        _prepare(spec, machine, files)
        deadline = time.monotonic() + spec.timeout + (GRACE if spec.time_limit else 0)
        host = HostWatch()
        try:
            with _started(machine.launch(spec, files), files, tidying) as process:
                return _follow(process, reader, deadline, collector, host)
        finally:
            collector.result.host = str(host)
            collector.result.console = _read_console(files)


def boot(spec: GuestSpec, *, machine: Machine | None = None, console: Path | None = None) -> GuestResult:
    """Run the spec's script in a guest of its own.

    Whatever the guest does ends up in the result. ``console``, if given, receives the kernel's
    log, whatever happens. Raises UsageError for a spec that cannot be, BuildError when guest-init
    does not compile, ToolError when a program of the host is missing, OSError when the host has no
    room. No process and no file is left, also when KeyboardInterrupt passes through.
    """
    spec.check()
    init = workloads.build() / "guest-init"
    collector = Collector(spec)
    start = time.monotonic()
    used = machine or machine_for(spec.kernel.arch)
    with _Tidying() as tidying, paths.scratch_dir() as directory:
        try:
            in_time = _run(spec, used, directory, init, collector, tidying)
        except BadEvent as error:
            in_time, collector.result.error = True, str(error)
        finally:
            tidying.tidy()
            if console is not None:
                paths.write_file(console, collector.result.console.encode())
    result = collector.finish()
    result.wall_seconds = time.monotonic() - start
    judge(result, in_time, collector.bye)
    return result
