# SPDX-License-Identifier: GPL-2.0
"""Records of demonstrations: from samples, to a file and back, and files that are none."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.demo import records
from tests.guest.fakes import MIB, made, spec
from vswaplab.demo import record
from vswaplab.demo.machines import MACHINES
from vswaplab.errors import UsageError
from vswaplab.guest import GuestResult
from vswaplab.run.report import Report, Verdict

KIB = 1024
VSWAP = {"slots_used": 9, "zero": 1, "zswap": 5, "physical": 1, "cached": 2, "metadata_bytes": 8 * KIB}


def test_columns_of_samples() -> None:
    meminfo = {"SwapTotal": 9, "SwapFree": 4, "MemAvailable": 50, "Zswap": 2}
    samples = [made(meminfo=meminfo, vswap=VSWAP, vmstat={"pswpin": at, "zswpwb": 7}) for at in (3, 5)]
    found = record.columns(samples)
    assert found["t"] == [1.0, 1.0]
    assert found["free_kib"] == [100 * KIB] * 2 and found["available_kib"] == [50 * KIB] * 2
    assert found["device_slots"] == [5 * MIB // 4096] * 2
    assert (found["slots_zswap"], found["slots_cached"], found["metadata_kib"]) == ([5, 5], [2, 2], [8, 8])
    assert (found["pswpin"], found["zswpwb"]) == ([3, 5], [7, 7])
    # What a kernel does not have is not made up.
    assert not {"zswpin", "zram_memory_kib", "anonymous_kib"} & set(found)


def test_columns_of_zram_and_of_nothing() -> None:
    zram = {"data_bytes": 4 * MIB, "compressed_bytes": MIB, "memory_bytes": 2 * MIB}
    found = record.columns([made(zram=zram)])
    assert (found["zram_data_kib"], found["zram_memory_kib"]) == ([4 * KIB], [2 * KIB])
    assert "slots_used" not in found
    assert record.columns([]) == {"t": []}


def report(**changes: Any) -> Report:
    result = GuestResult(**{"status": "ok", "exit_code": 0, "seconds": 2.0, "samples": [made()], **changes})
    return Report("mainline", spec(), result, Verdict(MIB, result.exit_code == 0))


def test_a_machine_that_failed_says_why() -> None:
    found = record.recorded(MACHINES[0], report(exit_code=1, oom_kills=["swapcheck"]), 90)
    assert found.result == "out of memory" and "swapcheck" in str(found.failure)
    lost = record.recorded(MACHINES[1], report(status="lost", exit_code=None, seconds=None, samples=[]), 90)
    assert (lost.result, lost.seconds, lost.columns) == ("machine lost", None, {"t": []})


def test_compressor_is_the_one_in_use() -> None:
    hello = {"compressor": "lzo", "zram_compressor": "zstd", "release": "7.3.4"}
    assert record.recorded(MACHINES[2], report(hello=hello), 90).compressor == "lzo"
    on_zram = replace(report(hello=hello), spec=spec(zswap=False))
    assert record.recorded(MACHINES[1], on_zram, 90).compressor == "zstd"


def test_a_record_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written = records.record(records.failed(), records.recorded("zram", 3), records.recorded("virtual swap", 5))
    record.write(path, written)
    assert record.read(path) == written
    assert max(len(line) for line in path.read_text().splitlines()) < 2000, "a line for each column"


def spoiled(where: str, value: object) -> str:
    """A record with one value replaced, or taken out if it is None: "machines.0.columns.t"."""
    content = json.loads(record.to_text(records.record(records.recorded("zram", 5))))
    at = content
    *way, last = where.split(".")
    for word in way:
        at = at[int(word)] if isinstance(at, list) else at[word]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("format", 2, "format"),
        ("demonstration", "other", "another content"),
        ("date", 5, "date"),
        ("work", "x" * 3, "work"),
        ("machines", [], "0 machines"),
        ("machines", 5, "len"),
        ("machines.0.name", None, "name"),
        ("machines.0.name", 5, "name"),
        ("machines.0.more", 5, "more"),
        ("machines.0.failure", 5, "failure"),
        ("machines.0.swap", "tape:5M", "tape"),
        ("machines.0.mem_bytes", 0, "mem_bytes"),
        ("machines.0.mem_bytes", "much", "mem_bytes"),
        ("machines.0.mem_total_kib", float("nan"), "mem_total_kib"),
        ("machines.0.phases.0.begin", "soon", "time"),
        ("machines.0.columns.t", None, "times"),
        ("machines.0.columns.t", [5, 4, 3, 2, 1], "backwards"),
        ("machines.0.columns.t", [1, 2], "samples"),
        ("machines.0.columns.pswpin", [1, 2, "x", 4, 5], "pswpin"),
        ("machines.0.columns.pswpin", [1, 2, -3, 4, 5], "pswpin"),
        ("machines.0.columns.pswpin", [1, 2, True, 4, 5], "pswpin"),
        ("machines.0.columns.pswpin", 5, "pswpin"),
        ("machines.0.columns.other", [1, 2, 3, 4, 5], "other"),
    ],
)
def test_what_is_no_record(where: str, value: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(spoiled(where, value))
    with pytest.raises(UsageError, match=said):
        record.read(path)


OTHERS = ["", "{", "[]", "5", '"x"', "null", "[" * 100_000, "\0", '{"demonstration": "vswap"}']


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_record_at_all(text: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="no record of a demonstration"):
        record.read(path)
    path.write_bytes(b"\xff\xfe" + text.encode())
    with pytest.raises(UsageError, match="no record of a demonstration"):
        record.read(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        record.read(tmp_path / "none")
    with pytest.raises(UsageError, match="no record"):
        record.read(tmp_path)
