# SPDX-License-Identifier: GPL-2.0
"""A whole run with guests that answer at once: interrupted, resumed, summed up."""

import argparse
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import fakes
from vswaplab import cli
from vswaplab.bench import document, engine, results, state
from vswaplab.bench.document import read_json
from vswaplab.commands import bench
from vswaplab.errors import ToolError, UsageError
from vswaplab.guest import GuestResult, GuestSpec

pytestmark = pytest.mark.usefixtures("cache")


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    made = fakes.plan(tmp_path)
    with state.opened(made.identity()) as kept, pytest.raises(KeyboardInterrupt):
        engine.run(made, kept, fakes.Guests(interrupt_after=3), fakes.Silent())
    guests = fakes.Guests()
    with state.opened(made.identity()) as kept:
        assert len(kept.finished) == 3
        rounds = engine.run(made, kept, guests, fakes.Silent())
        kept.forget()
    assert len(guests.specs) == 5 and len(rounds) == 8
    with state.opened(made.identity()) as kept:
        assert kept.finished == {}


def test_an_interrupted_run_reports_what_is_complete(tmp_path: Path) -> None:
    """The first case is finished, the second is not: it is not in the report, which says so."""
    made = fakes.plan(tmp_path, fakes.CASE, replace(fakes.CASE, setup="disk"))
    args = argparse.Namespace(json=str(tmp_path / "out.json"), html=str(tmp_path / "out.html"))
    with state.opened(made.identity()) as kept:
        with pytest.raises(KeyboardInterrupt):
            engine.run(made, kept, fakes.Guests(interrupt_after=3), fakes.Silent())
        assert bench.write_report(args, made, kept) == {}
        assert not (tmp_path / "out.json").exists()
        with pytest.raises(KeyboardInterrupt):
            engine.run(made, kept, fakes.Guests(interrupt_after=6), fakes.Silent())
        assert bench.write_report(args, made, kept)
    content = read_json(tmp_path / "out.json")
    assert {row["setup"] for row in content["results"]} == {"zswap"} and content["cases_left"] == 1
    assert "not finished, and not here: 1" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize("end", [cli.Terminated(signal.SIGTERM), ToolError("no qemu")])
def test_an_unfinished_run_leaves_a_complete_report_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], end: BaseException
) -> None:
    """First there is nothing, then what is incomplete, then a complete report; a complete run replaces each."""
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    args = parser.parse_args(["--json", str(tmp_path / "out.json"), "--html", str(tmp_path / "out.html")])
    first, second = fakes.CASE, replace(fakes.CASE, setup="disk")
    monkeypatch.setattr(bench, "_plan", lambda _: fakes.plan(tmp_path, first, second))

    def run(left: int | None) -> str:
        monkeypatch.setattr(bench, "boot", fakes.Guests(left, end))
        if left is None:
            assert bench.main(args) == 0
        else:
            with pytest.raises(type(end)):
                bench.main(args)
        return capsys.readouterr().err

    def written() -> list[int]:
        names = ("out.json", "out.incomplete.json")
        return [read_json(tmp_path / name)["cases_left"] for name in names if (tmp_path / name).exists()]

    assert "is complete and stays" not in run(9) and written() == [1]
    assert "is complete and stays" not in run(1) and written() == [1]  # it is the same run, one round further
    run(None)
    assert written() == [0]
    complete = (tmp_path / "out.json").read_bytes(), (tmp_path / "out.html").read_bytes()
    said = run(9)
    for name in ("json", "html"):
        assert f"out.{name} is complete and stays; this run is not: {tmp_path}/out.incomplete.{name}\n" in said
    assert ((tmp_path / "out.json").read_bytes(), (tmp_path / "out.html").read_bytes()) == complete
    assert written() == [0, 1]
    assert "not finished, and not here: 1" in (tmp_path / "out.incomplete.html").read_text()
    run(None)
    assert written() == [0, 1] and (tmp_path / "out.json").read_bytes() != complete[0]


@pytest.mark.parametrize("data", [b"", b"not JSON", b"[]", b'{"cases_left": 0}', b"\xff"])
def test_what_is_not_known_to_be_incomplete_is_kept(tmp_path: Path, data: bytes) -> None:
    target = tmp_path / "out.json"
    target.write_bytes(data)
    assert document.keeping(target, {"cases_left": 1}, document.incomplete) == tmp_path / "out.incomplete.json"
    assert document.keeping(target, {"cases_left": 0}, document.incomplete) == target


def test_a_line_that_was_cut_short_is_measured_again(tmp_path: Path) -> None:
    made = fakes.plan(tmp_path)
    with state.opened(made.identity()) as kept:
        engine.run(made, kept, fakes.Guests(), fakes.Silent())
    file = next((tmp_path / "cache").rglob("rounds.jsonl"))
    file.write_bytes(file.read_bytes()[:-20])
    guests = fakes.Guests()
    with state.opened(made.identity()) as kept:
        assert len(kept.finished) == 7
        engine.run(made, kept, guests, fakes.Silent())
    assert len(guests.specs) == 1
    with state.opened(made.identity()) as kept:
        assert len(kept.finished) == 8


def test_fresh_forgets(tmp_path: Path) -> None:
    made = fakes.plan(tmp_path)
    with state.opened(made.identity()) as kept:
        engine.run(made, kept, fakes.Guests(), fakes.Silent())
    with state.opened(made.identity(), fresh=True) as kept:
        assert kept.finished == {}


def test_one_run_at_a_time(tmp_path: Path) -> None:
    identity = fakes.plan(tmp_path).identity()
    with state.opened(identity), pytest.raises(UsageError, match="already running"):
        with state.opened(identity):
            pass


def test_how_long_is_left(tmp_path: Path) -> None:
    made, watcher = fakes.plan(tmp_path), fakes.Silent()
    with state.opened(made.identity()) as kept:
        engine.run(made, kept, fakes.Guests(), watcher)
    assert watcher.left == [None, *(4.0 * left for left in (7, 6, 5, 4, 3, 2, 1))]


def test_rows_leave_the_warm_up_out(tmp_path: Path) -> None:
    made = fakes.plan(tmp_path, rounds=5)
    with state.opened(made.identity()) as kept:
        rounds = engine.run(made, kept, fakes.Guests(), fakes.Silent())
    rows = results.rows(made.cases, rounds, made.names, made.options.warmup)
    free = next(row for row in rows if row.metric == "free latency")
    assert free.kernels["mainline"].n == 5
    # turns 4, 5, 8, 9, 12 of mainline, 3, 6, 7, 10, 11 of vswap: the guest adds its number
    assert free.kernels["mainline"].values == [1004, 1005, 1008, 1009, 1012]
    assert free.kernels["vswap"].values == [603, 606, 607, 610, 611]
    compared = free.compared
    assert compared.verdict == "better" and compared.ratio and compared.ci95
    assert compared.ratio == pytest.approx(607 / 1008, rel=1e-5)
    assert compared.ci95[0] < compared.ratio < compared.ci95[1]
    assert compared.p == pytest.approx(2 / 252, rel=1e-5)
    assert compared.p_holm == pytest.approx(4 * 2 / 252, rel=1e-5)
    assert free.vmstat["vswap"]["zswpout"] == 100
    assert {"suite", "setup", "pressure", "metric", "unit", "lower_is_better", "kernels", "ratio", "ci95"} <= set(
        free.to_json()
    )


def test_a_kernel_that_hangs_is_given_up(tmp_path: Path) -> None:
    """Two rounds of it are enough; the other kernel's go on, and the report says what was not run."""
    made, good = fakes.plan(tmp_path, rounds=4), fakes.Guests()
    hung: list[GuestSpec] = []

    def boot(spec: GuestSpec) -> GuestResult:
        if spec.kernel.kernel == "vswap":
            return good(spec)
        hung.append(spec)
        return fakes.ended({}, status="timeout")

    with state.opened(made.identity()) as kept:
        rounds = engine.run(made, kept, boot, fakes.Silent())
    assert (len(hung), len(good.specs), len(rounds)) == (engine.GIVE_UP, 5, 10)
    row = results.rows(made.cases, rounds, made.names, made.options.warmup)[0]
    assert row.status == row.kernels["mainline"].status == "timeout"
    assert row.kernels["mainline"].failures == [
        "timeout: not finished in time (1 of 4)",
        "timeout: not run again after: not finished in time (3 of 4)",
    ]
    assert (row.kernels["mainline"].n, row.kernels["vswap"].n) == (0, 4)
