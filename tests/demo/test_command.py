# SPDX-License-Identifier: GPL-2.0
"""vswap demo without a machine: what it refuses, and pages of old records."""

from pathlib import Path

import pytest

from tests.demo import records
from tests.guest.fakes import KERNEL, made
from vswaplab import cli
from vswaplab.bench import kernels
from vswaplab.commands import demo
from vswaplab.demo import record
from vswaplab.guest import GuestResult, GuestSpec
from vswaplab.run.demo import Program
from vswaplab.run.report import Report

pytestmark = pytest.mark.usefixtures("nothing_is_built")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--html", "."], "cannot write"),
        (["--html", "not/there.html"], "cannot write"),
        (["--json", "not/there.json"], "cannot write"),
        (["--html", "x", "--json", "./x"], "same file"),
        (["--html", "record.json", "--from", "record.json"], "same file"),
        (["--from", "record.json"], "--html"),
        (["--html", "x", "--from", "none.json"], "there is no"),
        (["--html", "x", "--from", "bad.json"], "no record"),
        (["--html", "x", "--from", "record.json", "--json", "y"], "--json"),
        (["--html", "x", "--from", "record.json", "--mem", "1G"], "--mem"),
        (["--html", "x", "--from", "record.json", "--compressor", "lz4"], "--compressor"),
        (["--html", "x", "--from", "record.json", "--timeout", "5"], "--timeout"),
        (["--html", "x", "--mem", "much"], "much"),
        (["--html", "x", "--mem", "4M"], "memory size"),
        (["--html", "x", "--compressor", "a b"], "compressor"),
        (["--html", "x", "--timeout", "0"], "--timeout"),
        (["--html", "x", "--timeout", "nan"], "--timeout"),
        (["--html", "x", "--timeout", "soon"], "--timeout"),
        (["--html", "x", "--arch", "arm"], "--arch"),
        (["--html", "x", "more"], "more"),
    ],
)
def test_bad_input(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    record.write(tmp_path / "record.json", records.record())
    (tmp_path / "bad.json").write_text("{}")
    before = sorted(tmp_path.iterdir())
    assert cli.main(["demo", *words]) == 2
    out, err = capsys.readouterr()
    assert said in err and err.startswith("vswap: ") and err.count("\n") == 1 and out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_page_of_an_old_record(tmp_path: Path) -> None:
    source, target = tmp_path / "record.json", tmp_path / "page.html"
    record.write(source, records.record())
    assert cli.main(["demo", "--html", str(target), "--from", str(source)]) == 0
    first = target.read_text()
    assert first.startswith("<!doctype html>")
    assert cli.main(["demo", "--html", str(target), "--from", str(source)]) == 0
    assert target.read_text() == first, "the same record gives the same page"


def test_a_bad_record_leaves_an_old_page_alone(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    assert cli.main(["demo", "--html", str(target), "--from", "/dev/null"]) == 2
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


class Runs:
    """Instead of machines: the results that they have, one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *results: GuestResult | type[KeyboardInterrupt]) -> None:
        self.specs: list[GuestSpec] = []
        self._results = list(results)
        monkeypatch.setattr(kernels, "get", lambda *_words, **_options: KERNEL)
        monkeypatch.setattr(demo, "run_one", self._run)

    def _run(self, spec: GuestSpec, program: Program, _quiet: bool) -> Report:
        self.specs.append(spec)
        result = self._results.pop(0)
        if not isinstance(result, GuestResult):
            raise result
        return Report(program.title, spec, result, program.verdict(result))


def good() -> GuestResult:
    """A machine in which both programs verified their data."""
    marks = [f"phase {kind} {name} 1.5 0\n" for name in ("swapcheck", "redis-server") for kind in ("begin", "end")]
    files = {f"{name}.json": '{"verified": true, "bytes": 5}' for name in ("swapcheck", "redis-server")}
    return GuestResult(
        status="ok", exit_code=0, seconds=2.0, samples=[made("start"), made()], stdout="".join(marks), files=files
    )


def killed() -> GuestResult:
    """One that ran out of memory."""
    return GuestResult(status="ok", exit_code=1, seconds=2.0, samples=[made()], oom_kills=["swapcheck"])


def test_machines_have_the_same_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = Runs(monkeypatch, good(), good(), good())
    assert cli.main(["demo", "--html", str(tmp_path / "p"), "--json", str(tmp_path / "r"), "--mem", "64M"]) == 0
    assert [(spec.swap, spec.zswap, spec.pool_percent) for spec in runs.specs] == [
        ("file:192M", True, 90), ("zram:192M", False, None), ("none", True, 90),
    ]  # fmt: skip
    assert {(spec.mem_bytes, spec.compressor, spec.cpus_used) for spec in runs.specs} == {(64 << 20, "lz4", 2)}
    assert "verified" in capsys.readouterr().out
    found = record.read(tmp_path / "r")
    assert [machine.result for machine in found.machines] == ["verified"] * 3


def test_mainline_may_fail_and_virtual_swap_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "page"
    Runs(monkeypatch, killed(), good(), good())
    assert cli.main(["demo", "--html", str(target)]) == 0
    assert "killed for lack of memory (swapcheck)" in target.read_text()
    capsys.readouterr()
    Runs(monkeypatch, good(), good(), killed())
    assert cli.main(["demo", "--html", str(target)]) == 1
    assert "killed for lack of memory" in capsys.readouterr().err
    assert "killed for lack of memory (swapcheck)" in target.read_text(), "the page says so as well"


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Runs(monkeypatch, good(), KeyboardInterrupt)
    assert cli.main(["demo", "--html", str(tmp_path / "p"), "--json", str(tmp_path / "r")]) == 130
    assert list(tmp_path.iterdir()) == []
