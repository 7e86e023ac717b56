# SPDX-License-Identifier: GPL-2.0
"""The channel: lines of JSON in pieces of any size."""

import json
from collections.abc import Mapping

import pytest

from tests.guest.fakes import BYE, EXIT, sample, spec
from vswaplab.guest import Sample
from vswaplab.guest.events import BadEvent, Collector


def wire(*events: Mapping[str, object]) -> bytes:
    return b"".join(json.dumps({"t": 1.0, **event}).encode() + b"\n" for event in events)


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_whole_run(piece: int) -> None:
    seen: list[Sample] = []
    output: list[tuple[str, bytes]] = []
    collector = Collector(spec(on_sample=seen.append, on_output=lambda *what: output.append(what)))
    data = wire(
        {"type": "hello", "release": "7.3.4", "cpus": 2, "zswap": "Y"},
        sample("start"),
        {"type": "out", "data": "on\n"},
        {"type": "err", "data": "err\n"},
        {"type": "out", "data": "caf\u00c3"},
        {"type": "out", "data": "\u00a9\n"},
        sample("end"),
        {**EXIT, "code": 3},
        {"type": "file", "name": "a.json", "data": "[1,"},
        {"type": "file", "name": "a.json", "data": "2]"},
        {"type": "file", "name": "empty", "data": ""},
        {"type": "verify", "violations": 0},
        {"type": "swapoff", "seconds": 0.25, "error": None},
        {"type": "verify", "violations": 2},
        {"type": "leak", "name": "kmemleak", "data": "unreferenced"},
        BYE,
    )
    for start in range(0, len(data), piece):
        collector.feed(data[start : start + piece])
    result = collector.finish()
    assert collector.bye
    assert result.hello == {"release": "7.3.4", "cpus": 2, "zswap": "Y"}
    assert [s.phase for s in result.samples] == ["start", "end"] == [s.phase for s in seen]
    assert (result.exit_code, result.seconds) == (3, 1.5)
    assert (result.stdout, result.stderr, result.output) == ("on\ncafé\n", "err\n", "on\nerr\ncafé\n")
    assert b"".join(data for stream, data in output if stream == "out") == "on\ncafé\n".encode()
    assert result.files == {"a.json": "[1,2]", "empty": ""}
    assert result.verify_violations == 2
    assert result.swapoff_seconds == 0.25
    assert result.leaks == "unreferenced"


def test_a_line_cut_short_is_dropped() -> None:
    collector = Collector(spec())
    collector.feed(wire(EXIT) + b'{"type": "bye"')
    assert collector.finish().exit_code == 0
    assert not collector.bye


def test_failed_swapoff_has_no_time() -> None:
    collector = Collector(spec())
    collector.feed(wire({"type": "swapoff", "seconds": 9.0, "error": "Cannot allocate memory"}))
    result = collector.finish()
    assert result.swapoff_seconds is None
    assert result.swapoff_error == "Cannot allocate memory"


@pytest.mark.parametrize(("kind", "status"), [("error", "lost"), ("refused", "refused")])
def test_guest_gives_up(kind: str, status: str) -> None:
    collector = Collector(spec())
    collector.feed(wire({"type": kind, "text": "no such compressor"}))
    result = collector.finish()
    assert (result.status, result.error) == (status, "no such compressor")


@pytest.mark.parametrize("line", [b"no json\n", b"[]\n", b'{"type": "unknown"}\n', b'{"type": "exit"}\n', b"{}\n"])
def test_what_no_guest_sends(line: bytes) -> None:
    with pytest.raises(BadEvent):
        Collector(spec()).feed(line)
