# SPDX-License-Identifier: GPL-2.0
"""vswapctl drain with a swapoff that moves numbers in a file."""

import argparse
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran
from vswapctl import swapoff
from vswapctl.commands import drain
from vswapctl.errors import CannotRead, CtlError, UsageError
from vswapctl.kernel import Kernel

DEVICE = "/dev/vda2"


def run(root: Path, call: Callable[[str], int], device: str = DEVICE, force: bool = False) -> int:
    args = argparse.Namespace(device=device, dry_run=False, force=force)
    return drain.run(args, Kernel(str(root)), call)


def slowly(root: Path, steps: int) -> Callable[[str], int]:
    """A swapoff that frees a MiB every 50 ms and then takes the device off the list."""

    def call(path: str) -> int:
        for left in range(steps, 0, -1):
            (root / "proc/swaps.new").write_text(fakes.swaps((path, "partition", 1024, left, -2)))
            (root / "proc/swaps.new").rename(root / "proc/swaps")
            time.sleep(0.05)
        (root / "proc/swaps").write_text(fakes.SWAPS)
        return 0

    return call


def test_progress(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ours, slowly(ours, 20)) == 0
    out = capsys.readouterr().out
    assert "20.0 MB to move; room for" in out and "is no swap device any longer, after" in out


def test_progress_line(ours: Path) -> None:
    kernel = Kernel(str(ours))
    progress = drain.Progress(kernel, drain.find(kernel, DEVICE))
    assert progress.line(15 << 20, 2.0) == "5.0 MB of 20.0 MB (25 %), 2.5 MB/s, 6 s left"
    assert progress.line(20 << 20, 1.0).endswith("time left unknown")


def test_progress_on_a_terminal(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, rewritten; and none once the device has gone."""
    kernel = Kernel(str(ours))
    progress = drain.Progress(kernel, drain.find(kernel, DEVICE))
    progress.terminal = True
    progress()
    progress()
    (ours / "proc/swaps").write_text(fakes.SWAPS)
    progress()
    progress.end()
    out = capsys.readouterr().out
    assert out.count("\r\033[K0 B of 20.0 MB (0 %)") == 2 and out.count("\n") == 1


def test_progress_on_a_narrow_terminal(
    ours: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that wraps could not be rewritten."""
    monkeypatch.setenv("COLUMNS", "20")
    kernel = Kernel(str(ours))
    progress = drain.Progress(kernel, drain.find(kernel, DEVICE))
    progress.terminal = True
    progress()
    assert capsys.readouterr().out == "\r\033[K0 B of 20.0 MB (0 %"


def test_progress_on_a_dumb_terminal(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(str(ours))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for term, rewrites in (("dumb", False), ("xterm", True)):
        monkeypatch.setenv("TERM", term)
        assert drain.Progress(kernel, drain.find(kernel, DEVICE)).terminal is rewrites


def test_interrupted(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C goes to the system call as a signal; the device stays."""

    def call(path: str) -> int:
        os.kill(os.getppid(), signal.SIGINT)  # the user, when it has begun
        return slowly(ours, 400)(path)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(ours, call)
    assert time.monotonic() - start < 10
    assert "is still in use and fully usable" in capsys.readouterr().out
    left = (ours / "proc/swaps").read_text()
    time.sleep(0.2)
    assert (ours / "proc/swaps").read_text() == left, "the child goes on"


class Finalised:
    """Gets a Ctrl-C where Python throws exceptions away."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_no_interrupt_is_lost() -> None:
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        swapoff.run(DEVICE, twenty_seconds, del_one)
    assert time.monotonic() - start < 10


def del_one() -> None:
    Finalised()


def half_a_second(_path: str) -> int:
    time.sleep(0.5)
    return 0


def twenty_seconds(_path: str) -> int:
    time.sleep(20)
    return 0


def test_signals_that_are_ignored_stay_so() -> None:
    """As by nohup: the drain goes on."""
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code = swapoff.run(DEVICE, half_a_second, lambda: os.kill(os.getpid(), signal.SIGHUP))
        assert code == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, old)


def test_the_child_ignores_it_as_well(ours: Path) -> None:
    """A terminal that closes tells all processes, of which one makes the system call."""

    def call(_path: str) -> int:
        for pid in (os.getppid(), os.getpid()):
            os.kill(pid, signal.SIGHUP)
        return half_a_second(DEVICE)

    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert swapoff.run(DEVICE, call, lambda: None) == 0
    finally:
        signal.signal(signal.SIGHUP, old)


@pytest.mark.parametrize("ignored", [True, False])
def test_what_was_inherited(ours: Path, ctl: Ran, ignored: bool) -> None:
    """The command line leaves a signal alone that is ignored, as under nohup."""
    old = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for number in old:
            signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
        assert ctl(ours, "mode")[0] == 0
        assert {signal.getsignal(number) == signal.SIG_IGN for number in old} == {ignored}
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (errno.EPERM, CannotRead, "sudo vswapctl drain /dev/vda2"),
        (errno.ENOMEM, CtlError, "no room for all"),
        (errno.EINTR, CtlError, "stays in use"),
        (errno.EINVAL, CtlError, "no swap device any longer"),
        (errno.EIO, CtlError, "Input/output error"),
    ],
)
def test_errors(ours: Path, code: int, kind: type[CtlError], text: str) -> None:
    with pytest.raises(kind, match=text):
        run(ours, lambda _path: code)


def test_a_call_that_fails_by_itself(ours: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def call(_path: str) -> int:
        raise RuntimeError

    with pytest.raises(CtlError, match="status 255"):
        run(ours, call)

    def killed(_path: str) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0

    with pytest.raises(CtlError, match="interrupted by a signal"):
        run(ours, killed)

    def out_of_memory(_path: str) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    with pytest.raises(CtlError, match="no room for all of /dev/vda2: it stays in use"):
        run(ours, out_of_memory)


def never(_path: str) -> int:
    raise AssertionError("swapoff was called")


@pytest.mark.parametrize("name", ["/dev/vda1", "vda2", "", "/proc/swaps"])
def test_no_device(ours: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no active swap device; there are: /dev/vda2"):
        run(ours, never, device=name)


@pytest.mark.parametrize("name", ["/swapfile", "/swapfile (deleted)"])
def test_a_file_that_was_deleted(ours: Path, name: str) -> None:
    """The kernel appends to its name, and no name is left for swapoff."""
    fakes.write(ours, {"/proc/swaps": fakes.swaps(("/swapfile\\040(deleted)", "file", 1024, 20, -2))})
    with pytest.raises(CtlError, match=r"/swapfile \(deleted\): the file was deleted .* only a reboot frees it"):
        run(ours, never, device=name)
    fakes.write(ours, {"/swapfile (deleted)": ""})  # one that is called so
    if name.endswith(")"):
        assert run(ours, lambda path: int(path != name), device=name) == 0


def test_a_new_file_by_the_name_of_a_deleted_one(ours: Path) -> None:
    fakes.write(ours, {"/proc/swaps": fakes.swaps(
        ("/swapfile\\040(deleted)", "file", 1024, 20, 5), ("/swapfile", "file", 1024, 20, -2)
    )})  # fmt: skip
    assert run(ours, lambda path: int(path != "/swapfile"), device="/swapfile") == 0


def test_a_carriage_return_in_a_name(ours: Path) -> None:
    """The kernel writes it as it is."""
    fakes.write(ours, {"/proc/swaps": fakes.swaps(("/swap\rfile", "file", 1024, 20, -2))})
    assert run(ours, lambda path: int(path != "/swap\rfile"), device="/swap\rfile") == 0


def test_links_are_followed(ours: Path, tmp_path: Path) -> None:
    link = tmp_path / "by-uuid"
    link.symlink_to(DEVICE)
    assert run(ours, lambda path: int(path != DEVICE), device=str(link)) == 0


def test_no_room(ours: Path, ctl: Ran) -> None:
    """100 MiB available, 50 of them for the pool at 3:1: less than the 900 on the device."""
    fakes.write(ours, {
        "/proc/meminfo": fakes.meminfo(available=100, swap_total=1024, swap_free=124, pool=1998, stored=5994),
        "/proc/swaps": fakes.swaps((DEVICE, "partition", 1024, 900, -2)),
    })  # fmt: skip
    with pytest.raises(CtlError, match="not enough room"):
        run(ours, never)
    assert run(ours, lambda _path: 0, force=True) == 0
    code, out, err = ctl(ours, "drain", DEVICE, "--dry-run")
    assert code == 1 and "150.0 MB in zswap, 0 B on other devices, 50.0 MB in RAM" in out and "not enough" in err


def test_the_room_that_zram_gives_back(ours: Path, ctl: Ran) -> None:
    """1 GB in 300 MB, 800 MB available: it fits, as zram shrinks meanwhile."""
    fakes.write(ours, {
        **fakes.zswap("N"),
        "/proc/meminfo": fakes.meminfo(available=800),
        "/proc/swaps": fakes.swaps(("/dev/zram0", "partition", 2048, 1024, 5)),
        "/sys/block/zram0/disksize": 2048 * fakes.MIB,
        "/sys/block/zram0/mm_stat": f"{1024 * fakes.MIB} {299 * fakes.MIB} {300 * fakes.MIB} 0 0 0 0 0 0\n",
    })  # fmt: skip
    code, out, err = ctl(ours, "drain", "/dev/zram0", "--dry-run")
    assert (code, err) == (0, "") and "1.1 GB in RAM" in out


def zram(size: int, data: int, memory: int) -> dict[str, str | int | bytes]:
    """The files of /dev/zram0; MiB."""
    at = "/sys/block/zram0"
    mm_stat = f"{data * fakes.MIB} {memory * fakes.MIB} {memory * fakes.MIB} 0 0 0 0 0 0\n"
    return {f"{at}/disksize": size * fakes.MIB, f"{at}/mm_stat": mm_stat}


@pytest.mark.parametrize(
    ("available", "data", "text"),
    [
        (100, 400, "0 B in zswap, 400.0 MB on other devices, 0 B in RAM"),  # 4:1
        (100, 0, "0 B in zswap, 200.0 MB on other devices, 0 B in RAM"),  # 2:1 for want of data
        (1000, 400, "0 B in zswap, 1.0 GB on other devices, 744.0 MB in RAM"),
    ],
)
def test_room_on_other_zram_disks(ours: Path, ctl: Ran, available: int, data: int, text: str) -> None:
    """Their free space is RAM, which is there once only."""
    fakes.write(ours, {
        **fakes.zswap("N"),
        "/proc/meminfo": fakes.meminfo(available=available),
        "/proc/swaps": fakes.swaps((DEVICE, "partition", 1024, 300, 5), ("/dev/zram0", "partition", 1024, 0, 9)),
        **zram(1024, data, data // 4),
    })  # fmt: skip
    assert text in ctl(ours, "drain", DEVICE, "--dry-run")[1]


def test_dry_run_and_root(ours: Path, ctl: Ran) -> None:
    assert ctl(ours, "drain", DEVICE, "--dry-run")[0] == 0
    code, _, err = ctl(ours, "drain", DEVICE)
    assert code == 2 and "--dry-run" in err


def test_system_call() -> None:
    """The real one, with what is no device: ENOENT, or EPERM if the user may not even ask."""
    assert swapoff.system_call("/nonexistent/device") in (errno.ENOENT, errno.EPERM)
