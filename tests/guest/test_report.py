# SPDX-License-Identifier: GPL-2.0
"""Reports: the promised JSON, the table, and which error a run ends with."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.guest.fakes import MIB, made, spec
from vswaplab.errors import GuestLost, GuestTimeout, WorkloadError
from vswaplab.guest import GuestResult
from vswaplab.run import demo, report
from vswaplab.run.report import Report, Verdict

SLOTS = {"slots_used": 200_000, "zero": 10, "zswap": 199_000, "physical": 990, "metadata_bytes": 3_600_000}
LEFT = {"slots_used": 0, "zero": 0, "zswap": 0, "physical": 0, "metadata_bytes": 12_288}


def result(**changes: Any) -> GuestResult:
    """A good run, with changes."""
    swap = {"SwapTotal": 100, "SwapFree": 96}
    values: dict[str, Any] = {
        "status": "ok", "exit_code": 0, "seconds": 12.5, "swapoff_seconds": 0.5,
        "samples": [
            made("start", vswap=LEFT, vmstat={"zswpin": 5, "zswpout": 1, "swpout_zero": 1}),
            made(meminfo={**swap, "Zswap": 100, "Zswapped": 300, "AnonPages": 80}, vswap=SLOTS,
                 vmstat={"zswpin": 9, "zswpout": 7, "swpout_zero": 2}),
            made("end", vswap=LEFT, vmstat={"zswpin": 10, "zswpout": 8, "swpout_zero": 3}),
        ],
        **changes,
    }  # fmt: skip
    return GuestResult(**values)


def reported(verified: bool = True, **changes: Any) -> Report:
    return Report("swapcheck", spec(), result(**changes), Verdict(512 * MIB, verified))


def test_json_is_what_was_promised() -> None:
    content = json.loads(json.dumps(report.to_json(reported())))
    promised = {
        "kernel": "vswap",
        "arch": "um",
        "mem_bytes": 256 * MIB,
        "workload": {"bytes": 512 * MIB, "verified": True, "exit_code": 0, "seconds": 12.5},
        "peak": SLOTS,
        "end": LEFT,
        "device_slots_peak": 1024,
        "swapoff_seconds": 0.5,
        "splats": [],
    }
    assert {name: content[name] for name in promised} == promised
    assert (content["swapped_in"], content["swapped_out"]) == (5, 9)
    assert (content["stored_bytes_peak"], content["ratio"]) == (100 * MIB, 3.0)


def test_json_of_a_lost_guest() -> None:
    content = report.to_json(reported(False, status="lost", exit_code=None, seconds=None, samples=[]))
    assert content["workload"] == {"bytes": 512 * MIB, "verified": False, "exit_code": None, "seconds": None}
    assert content["peak"] == content["end"] == dict.fromkeys(SLOTS, 0)


@pytest.mark.parametrize(
    ("changes", "verified", "error", "code", "word"),
    [
        ({"exit_code": 3}, False, WorkloadError, 1, "exit code 3"),
        ({}, False, WorkloadError, 1, "did not verify"),
        ({"splats": ["BUG: a", "BUG: b"]}, True, WorkloadError, 1, "BUG: a (and 1 more)"),
        ({"oom_kills": ["x"], "exit_code": 137}, False, WorkloadError, 1, "lack of memory (x)"),
        ({"status": "timeout"}, False, GuestTimeout, 3, "not finished"),
        ({"status": "lost", "hello": {"release": "7"}}, False, GuestLost, 3, "without a word"),
        ({"status": "lost", "console": "a\nb\n\n"}, False, GuestLost, 3, "not come up; its last line: b"),
        ({"status": "lost", "error": "mlockall"}, False, GuestLost, 3, "mlockall"),
        ({"status": "panic", "splats": ["Kernel panic - not syncing: x"]}, False, GuestLost, 3, "not syncing: x"),
    ],
)
def test_failures(changes: dict[str, Any], verified: bool, error: type[Exception], code: int, word: str) -> None:
    failed = reported(verified, **changes)
    found = failed.failure()
    assert type(found) is error
    assert found.exit_code == code
    assert word in str(found)
    assert not failed.good
    assert failed.verdict_text() != "verified"


def test_success() -> None:
    assert reported().failure() is None
    assert report.sentence(reported()) == "swapcheck on vswap: 512.0 MB of data verified in a machine of 256.0 MB"


def test_an_oom_kill_beside_a_verified_workload_is_no_failure() -> None:
    assert reported(oom_kills=["bystander"]).good


def test_table_of_two() -> None:
    console = Console(width=80, record=True, file=None, force_terminal=False)
    with console.capture() as capture:
        console.print(report.table([reported(), reported(False, oom_kills=["swapcheck"], exit_code=137)]))
    lines = {line.split("│")[1].strip(): line for line in capture.get().splitlines() if line.startswith("│")}
    assert lines["working set"].count("512.0 MB") == 2
    assert "200,000" in lines["slots in use"]
    assert "18.0 B" in lines["per slot"]
    assert "1,024" in lines["device slots"]
    assert [word.strip() for word in lines["result"].split("│")[2:4]] == ["verified", "out of memory"]


def answer(text: str, **changes: Any) -> Verdict:
    """What the demonstration's programs are taken to say."""
    return demo.swapcheck(Path("/x")).verdict(result(files={"demo.json": text}, **changes))


def test_demo_verdict() -> None:
    assert answer('{"bytes": 7, "verified": true}') == Verdict(7, True)
    # Its word alone is not enough, nor is its exit code.
    assert not answer('{"bytes": 7, "verified": true}', exit_code=1).verified
    assert not answer('{"bytes": 7, "verified": "true"}').verified
    assert not answer('{"bytes": 7}').verified
    assert not answer("[").verified
    assert not demo.redis().verdict(result()).verified


def test_own_programs_verdict() -> None:
    verdict = report.own_verdict(result())
    assert verdict.verified is None
    assert verdict.bytes == 80 * MIB + (200_000 - 990 + 1024) * 4096
    assert report.checked_verdict(result()) == Verdict(verdict.bytes, True)
    assert report.checked_verdict(result(exit_code=1)).verified is False


def own(**changes: Any) -> Report:
    """A run of a program that verifies nothing."""
    ended = result(**changes)
    return Report("sh", spec(), ended, report.own_verdict(ended), Path("/logs/x"))


@pytest.mark.parametrize(
    ("changes", "text", "failure"),
    [
        ({}, "exit 0", None),
        ({"oom_kills": ["bystander"]}, "exit 0", None),
        ({"exit_code": 3}, "exit 3", "exit code 3"),
        ({"exit_code": 1, "oom_kills": ["x"]}, "exit 1", "exit code 1; killed for lack of memory (x)"),
        ({"exit_code": 137, "oom_kills": ["x"]}, "out of memory", "killed for lack of memory (x)"),
        ({"splats": ["BUG: a"]}, "kernel splat", "BUG: a"),
        ({"status": "timeout", "exit_code": None}, "timed out", "--timeout"),
    ],
)
def test_own_program_is_not_said_to_be_verified(changes: dict[str, Any], text: str, failure: str | None) -> None:
    found = own(**changes)
    assert found.verdict_text() == text
    said = found.failure()
    assert (said is None) == (failure is None) and (failure or "") in str(said)
    content = report.to_json(found)
    assert (content["workload"]["verified"], content["result"]) == (None, text)
    assert content["console"] == "/logs/x"
    assert "verified" not in report.sentence(found)


@pytest.mark.parametrize(
    ("fields", "hello", "percent"),
    [
        ({"pool_percent": 90}, {"pool_percent": "90"}, 90),
        ({}, {"pool_percent": "20"}, 20),
        ({"pool_percent": 7}, {}, 7),
        ({}, {}, None),
        ({"zswap": False}, {"pool_percent": "20"}, None),
    ],
)
def test_limit_of_the_pool_is_told(fields: dict[str, Any], hello: dict[str, str], percent: int | None) -> None:
    found = Report("sh", spec(**fields), result(hello=hello), Verdict(0, None))
    assert report.to_json(found)["pool_percent"] == percent
    row = dict(report._rows(found))["pool limit"]
    assert row == (f"{percent} %" if percent else "-")
