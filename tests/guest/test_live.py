# SPDX-License-Identifier: GPL-2.0
"""The line that follows a guest."""

import io

import pytest
from rich.console import Console

from tests.guest.fakes import made
from vswaplab.run import live
from vswaplab.run.live import LiveLine

SAMPLE = made(
    meminfo={"MemFree": 12, "Zswap": 10, "Zswapped": 28},
    vswap={"slots_used": 1234, "zero": 1, "zswap": 1230, "physical": 3, "metadata_bytes": 1},
)


def test_what_it_says() -> None:
    text = live.describe("demo", SAMPLE)
    assert "RAM free  12.0 MB" in text
    assert "1 zero, 1,230 zswap, 3 physical" in text
    assert "2.80:1" in text


def test_terminal(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    stream = io.StringIO()
    with LiveLine("demo", Console(file=stream, force_terminal=True, width=120)) as line:
        line.sample(SAMPLE)
        line.output("out", b"hello\n")
        line.sample(SAMPLE)
    assert stream.getvalue().count("1,230 zswap") >= 2
    assert "\x1b[2K" in stream.getvalue(), "the line is erased before output and at the end"
    assert capsysbinary.readouterr().out == b"hello\n"


def test_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with LiveLine("demo", Console(file=stream, width=40)) as line:
        line.sample(SAMPLE)
        assert stream.getvalue() == ""
        monkeypatch.setattr(live, "EVERY", 0.0)
        line.sample(SAMPLE)
    assert stream.getvalue() == live.describe("demo", SAMPLE) + "\n"
