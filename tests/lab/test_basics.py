# SPDX-License-Identifier: GPL-2.0
"""Units, files that come into being whole, and programs that are started."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from vswaplab import paths, proc, units
from vswaplab.errors import ToolError, UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("64K", 65536), ("256M", 256 << 20), ("2g", 2 << 30), ("1TiB", 1 << 40), ("8kB", 8192)],
)
def test_sizes(text: str, size: int) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "-1M", "0", "0G", "1.5G", "12X", "1 2", "1MM", "0x10"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(UsageError, match="bad size"):
        units.parse_size(text)


def test_formats() -> None:
    assert [units.format_size(n) for n in (0, 512, 1536, 256 << 20, 3 << 40)] == [
        "0 B", "512 B", "1.5 KB", "256.0 MB", "3.0 TB",
    ]  # fmt: skip
    assert [units.format_seconds(n) for n in (0.25, 12.34, 245, 7380)] == [
        "0.25 s", "12.3 s", "4 min 05 s", "2 h 03 min",
    ]  # fmt: skip


def test_atomic_file_leaves_nothing_on_failure(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), paths.atomic_file(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_atomic_dir_leaves_nothing_on_failure(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), paths.atomic_dir(tmp_path / "dir") as temporary:
        (temporary / "half").write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_run_collects_and_checks() -> None:
    result = proc.SYSTEM.run(["sh", "-c", "echo out; echo why >&2; exit 3"], check=False)
    assert (result.returncode, result.stdout, result.last_line()) == (3, "out\n", "why")
    with pytest.raises(ToolError, match="why"):
        proc.SYSTEM.run(["sh", "-c", "echo why >&2; exit 3"])


def test_run_missing_program() -> None:
    with pytest.raises(ToolError, match="not installed"):
        proc.SYSTEM.run(["no-such-program-anywhere"])


@pytest.mark.parametrize("streaming", [False, True])
def test_timeout_kills_the_whole_group(tmp_path: Path, streaming: bool) -> None:
    """The grandchild must be gone too: it would write the file after the time limit."""
    late = tmp_path / "late"
    script = f"(sleep 1.5; touch {late}) & sleep 30"
    start = time.monotonic()
    with pytest.raises(ToolError, match="longer than"):
        proc.SYSTEM.run(["sh", "-c", script], timeout=0.3, on_line=print if streaming else None)
    assert time.monotonic() - start < 5
    time.sleep(2)
    assert not late.exists()


def test_children_that_ignore_sigterm_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "GRACE", 0.3)
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(30)"
    start = time.monotonic()
    with pytest.raises(ToolError, match="longer than"):
        proc.SYSTEM.run([sys.executable, "-c", script], timeout=0.5)
    assert time.monotonic() - start < 5


def test_interrupt_ends_the_child(tmp_path: Path) -> None:
    """Ctrl-C while a child runs: the child gets SIGTERM and may clean up."""
    mark = tmp_path / "cleaned"
    script = f"trap 'touch {mark}; exit' TERM; echo ready; while :; do sleep 0.05; done"

    def interrupt(line: str) -> None:
        assert line == "ready"
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        proc.SYSTEM.run(["sh", "-c", script], on_line=interrupt)
    assert mark.exists()


def test_lines_arrive_as_they_come() -> None:
    lines: list[str] = []
    result = proc.SYSTEM.run(["sh", "-c", "echo a; echo b >&2"], on_line=lines.append)
    assert lines == ["a", "b"]
    assert result.stdout == ""
