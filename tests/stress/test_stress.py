# SPDX-License-Identifier: GPL-2.0
"""Trials without guests: which there are, how an answer is judged, what is recorded and shown."""

import json
import os
import re
import signal
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vswaplab import cli, paths
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import UsageError
from vswaplab.guest import GuestResult, GuestSpec
from vswaplab.guestprograms.stress import crowd
from vswaplab.guestprograms.stress.__main__ import DISTURBERS
from vswaplab.stress import campaign, isolation, outcomes, page, tally
from vswaplab.stress.classes import CLASSES, Class
from vswaplab.stress.isolation import Beside, Figures
from vswaplab.stress.outcomes import Outcome
from vswaplab.stress.record import Record, add, added, read, write
from vswaplab.stress.tally import Tally
from vswaplab.stress.trial import TRIALS, Trial, by_name

GOOD: dict[str, Any] = {
    "checks": 1000, "mismatches": 0, "swapped_out": 900, "swapped_in": 800, "ends": {"verified": 3},
    "all_ended": True, "errors": [], "notes": ["a note"], "left_kb": 0, "done": {"mode": 7},
}  # fmt: skip
RECORD = Record("changes", 3, "um", "debug", "0123456789ab", "2026-01-02T03:04:05+00:00", 60.0, 1000)

FAULTS = next(one.files for one in CLASSES if one.name == "Faults")


def kernel(arch: str = "um", flavour: str = "debug") -> BuiltKernel:
    """One that nobody boots."""
    return BuiltKernel("vswap", arch, flavour, Path("vmlinux"), Path(), Path(".config"), "7.3")


def trial(name: str) -> Trial:
    """A trial that there is."""
    found = by_name(name)
    assert found is not None
    return found


def test_every_disturber_is_used_and_known() -> None:
    assert {name for one in TRIALS for name in one.disturbers} == set(DISTURBERS)
    assert len({one.name for one in TRIALS}) == len(TRIALS)


def test_a_seed_is_a_guest() -> None:
    for one in TRIALS:
        guests = [one.guest(seed, "x86_64", "debug") for seed in range(20)]
        assert guests == [one.guest(seed, "x86_64", "debug") for seed in range(20)]
        assert len({str(guest) for guest in guests}) > 5, one.name
        for guest in guests:
            GuestSpec(kernel=kernel("x86_64"), script="", **guest).check()


@pytest.mark.parametrize("one", TRIALS, ids=lambda one: one.name)
def test_what_a_kernel_can_have(one: Trial) -> None:
    """One processor and no zram in the smallest one, two nodes with PREEMPT_RT."""
    for seed in range(20):
        if one.fits("um", "minimal"):
            guest = one.guest(seed, "um", "minimal")
            assert guest["cpus"] == 1 and "zram" not in guest["swap"]
        if one.fits("x86_64", "rt"):
            GuestSpec(kernel=kernel("x86_64", "rt"), script="", **one.guest(seed, "x86_64", "rt")).check()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mismatches": 2}, "2 pages had wrong content"),
        ({"errors": ["Knob: no"]}, "Knob: no"),
        ({"checks": 0}, "nothing was swapped out, read back and verified"),
        ({"swapped_out": 0}, "nothing was swapped out, read back and verified"),
        ({"swapped_in": 0}, "nothing was swapped out, read back and verified"),
        ({"done": {"mode": 0}}, "the disturbers did nothing"),
        ({"all_ended": False}, "a worker did not end"),
        ({"left_kb": 8}, "8 KB in slots that belong to no process"),
        ({"ends": {"verified": 2, "SIGKILL": 1}}, "workers ended with {'SIGKILL': 1}"),
    ],
)
def test_what_is_a_problem(change: dict[str, Any], said: str) -> None:
    result = GuestResult(status="ok", files={"answer.json": json.dumps({**GOOD, **change})})
    _, wrong = campaign.judge(trial("changes"), result)
    assert wrong == [said, "a note"]
    good = GuestResult(status="ok", files={"answer.json": json.dumps(GOOD)})
    assert campaign.judge(trial("changes"), good)[1] == []


def test_where_a_worker_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that sleeps, and its child that does not: all that is known of a worker that does not end."""
    monkeypatch.setattr(crowd, "_LOOK", 1.0)
    argv = ["sh", "-c", "(echo; while :; do :; done) & exec sleep 60"]
    with subprocess.Popen(argv, start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            said = crowd.whereabouts(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert len(said) == 2 and all("VmSwap" in line for line in said)
    ticks = {int(line.split(":")[0]): int(line.split(", ")[1].split()[0]) for line in said}
    # The shell may become the one that sleeps only now.
    sleeps = ticks.pop(process.pid)
    assert all(used > sleeps for used in ticks.values()), said


def test_workers_may_be_killed_only_where_failures_are_injected() -> None:
    text = json.dumps({**GOOD, "ends": {"SIGBUS": 3}})
    result = GuestResult(status="ok", files={"answer.json": text})
    assert campaign.judge(trial("I/O errors"), result)[1] == []
    assert campaign.judge(trial("everything"), result)[1] != []


def test_splats_and_lost_guests() -> None:
    text = json.dumps(GOOD)
    splats = ["Write-error on swap-device (254:0:8)", "WARNING: CPU: 0"]
    result = GuestResult(status="ok", files={"answer.json": text}, splats=splats)
    assert campaign.judge(trial("I/O errors"), result)[1] == ["WARNING: CPU: 0"]
    assert campaign.judge(trial("changes"), result)[1] == splats
    answer, wrong = campaign.judge(trial("changes"), GuestResult(status="timeout", error="no end"))
    assert answer == {} and wrong == ["the guest ended with timeout: no end", "the guest's program gave no answer"]
    cut = GuestResult(status="ok", files={"answer.json": text[:20]}, verify_violations=2, swapoff_error="EBUSY")
    assert campaign.judge(trial("changes"), cut)[1] == [
        "2 invariants are violated", "swapoff at the end: EBUSY", "the guest's program gave no answer",
    ]  # fmt: skip


def test_a_record_of_a_guest() -> None:
    specs: list[GuestSpec] = []

    def boot(spec: GuestSpec) -> GuestResult:
        specs.append(spec)
        return GuestResult(status="ok", files={"answer.json": json.dumps(GOOD)}, seconds=61.23)

    record, result = campaign.one(trial("swapoff"), kernel(), "0123456789abcdef", 5, 60, boot=boot)
    assert (record.trial, record.seed, record.kernel, record.seconds) == ("swapoff", 5, "0123456789ab", 61.2)
    assert (record.checks, dict(record.done), record.problems) == (1000, {"mode": 7}, ())
    assert (record.swapped_out, record.swapped_in) == (900, 800)
    assert result.status == "ok" and "swapoff groups --seed 5" in specs[0].script


def test_turns_end_when_the_time_is_over() -> None:
    moments = iter(range(100))
    found = campaign.turns(TRIALS[:2], [kernel()], 4, 3, clock=lambda: float(next(moments)))
    assert [(one.name, seed) for one, _, seed in found] == [
        ("pressure", 4), ("changes", 4), ("pressure", 5), ("changes", 5), ("pressure", 6),
    ]  # fmt: skip
    once = campaign.turns([trial("folios"), trial("groups")], [kernel()], 1, 0.0)
    assert [one.name for one, _, _ in once] == ["groups"]  # User-Mode Linux has no large folios


def test_records_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    records = [RECORD, replace(RECORD, problems=("bad",), done={"mode": 2})]
    write(path, records)
    assert read(path) == records
    total = added(records)
    assert (total.guests, total.seconds, total.checks, total.bad) == (2, 120.0, 2000, 1)
    assert dict(total.done) == {"mode": 2} and dict(total.races) == {}
    add(path, RECORD)
    add(tmp_path / "new.json", RECORD)
    assert read(path) == [*records, RECORD] and read(tmp_path / "new.json") == [RECORD]
    write(path, [])
    assert read(path) == []
    for text in ("", "[]", '{"format": 7, "records": []}', '{"format": 1, "records": [{"trial": 1}]}'):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"no list of trials|has format 7"):
            read(path)


def test_the_page_is_what_the_records_say() -> None:
    assert not page.outdated(paths.repo_root()), f"run {page.COMMAND}"


def test_a_page(tmp_path: Path) -> None:
    (tmp_path / page.RECORDS).mkdir(parents=True)
    (tmp_path / page.FOUND).write_text('[[defect]]\nby = "review"\nwhat = "a defect"\ntest = "a test"\n')
    bad = replace(RECORD, seed=4, problems=("1 pages had wrong content",))
    write(tmp_path / page.RECORDS / "a.json", [RECORD, bad])
    text = page.page(tmp_path)
    assert "**2,000 pages verified**, 2,000 of them by trials, in 2 guests" in text
    assert "1 guest with a\nproblem" in text
    assert "changes, seed 4, um, debug" in text and "| review | a defect | a test |" in text
    write(tmp_path / page.RECORDS / "b.json", [replace(RECORD, trial="other")])
    with pytest.raises(UsageError, match="no such trial: other"):
        page.page(tmp_path)


def records_of_each_kind(top: Path) -> None:
    """A directory that has one of each, for the page."""
    (top / page.RECORDS).mkdir(parents=True)
    (top / page.FOUND).write_text('[[defect]]\nby = "trial"\nwhat = "a defect"\ntest = "a test"\n')
    races = {"data-race in a / b": 3}
    done = {"failslab faults": 1000, "memory.high": 5}
    raced = replace(RECORD, flavour="kcsan", arch="x86_64", races=races)
    write(top / page.RECORDS / "a.json", [raced, replace(RECORD, trial="deaths", done=done)])
    kernel = "0123456789ab"
    run = Tally("tests/e2e", "x86_64-release", 200, 30, ["e2e/test_a.py::b"], 5000, 60.0, kernel, "2026-11-23")
    marked = replace(run, machine="as marked")
    for one in (
        run,
        replace(marked, tests="--long tests/model", lost=[], figures={"states searched": 2900000}),
        replace(marked, tests=f"--long {' '.join(FAULTS)}", figures={"failslab faults": 234}),
        replace(run, tests="-k bytes tests/e2e"),
    ):
        tally.add(top / page.TESTS, one)
    lost, failed = {"c: z": "as meant"}, {"a: x": "is slow", "b: y": ""}
    outcomes.add(top / page.SUITES, Outcome("mm", "auto, none", 40, 39, 1, lost, kernel, "2026-11-24", failed))
    kernels = {name: {"median": 100.0, "status": "ok", "values": [99.0, 101.0]} for name in ("mainline", "vswap")}
    slow = {**kernels, "vswap": {"median": 111.0, "status": "ok", "values": [111.0, 120.4, 105.0]}}
    rows = [
        {
            "suite": "isolation", "setup": "zswap", "metric": f"{figure}, neighbour: zeroes", "kernels": values,
            "published": [],
        }
        for figure, values in (("touches", kernels), ("slowest", slow), ("p99", kernels))
    ]  # fmt: skip
    report = {
        "machine": {}, "commit": "", "order": [], "date": "2026-11-25 01:02 UTC", "results": rows,
        "kernels": {"vswap": {"sources_sha256": "0123456789abcdef"}},
    }  # fmt: skip
    (top / page.ISOLATION).write_text(json.dumps(report))
    covered = {
        "own_percent": 91.24, "edited_percent": 89.0, "kernel": "0123456789ab", "date": "2026-11-26",
        "guests": {"um": 200, "x86_64": 30},
        "files": {"mm/vswap/a.c": {"lines": 10, "missed": [4, 5]}, "mm/vswap/b.c": {"lines": 10, "missed": [9]}},
    }  # fmt: skip
    (top / page.COVERAGE).write_text(json.dumps(covered))
    (top / page.UNCOVERED).write_text('[[uncovered]]\nfile = "mm/vswap/a.c"\nwhy = "32 bits only"\n')


def test_a_class_without_a_record_says_so(tmp_path: Path) -> None:
    (tmp_path / page.RECORDS).mkdir(parents=True)
    (tmp_path / page.FOUND).write_text("defect = []\n")
    text = page.page(tmp_path)
    assert text.count("| no record |") == text.count("\nNo record.\n") == len(CLASSES)
    for one in CLASSES:
        assert f"\n## {one.name}\n\n{one.what}\n\n" in text
        assert all(f"\n    {line}\n" in text for line in one.commands)


def test_a_class_shows_its_records(tmp_path: Path) -> None:
    records_of_each_kind(tmp_path)
    text = page.page(tmp_path)
    rows = {match[1]: match[0] for match in re.finditer(r"(?m)^\| \[(.*?)\]\(#.*$", text)}
    assert rows.keys() == {one.name for one in CLASSES}
    assert "| no record |" in rows["Security"] and "| no record |" in rows["All tests"]
    assert "| 201 tests | 1 min 00 s | 5,000 | 1 | 0 | 0123456789ab | 2026-11-23 |" in rows["x86-64"]
    assert "| 2 guests of trials | 2 min 00 s | 2,000 | 0 | 1 |" in rows["Stress"]
    assert "| mm: 39 of 40 in 1 set-up | - | - | 1 | 0 | 0123456789ab | 2026-11-24 |" in rows["Tests of others"]
    assert "| 1 neighbours | - | - | 1 | 0 | 0123456789ab | 2026-11-25 |" in rows["Isolation"]
    assert "| 91.2 % of `mm/vswap/`, 89.0 % of edited lines |" in rows["Coverage"]
    assert "2,900,000 states searched" in text and "Together: 1,234 failslab faults." in text
    assert "| changes, x86_64, kcsan | 1 | 1 min 00 s | 0 | 1,000 | 0 | 3 |" in text
    assert "| 40 | 39 (not: c: z (as meant)) | 1 | 2 |" in text
    assert "* mm: a: x (is slow)\n* mm: b: y\n" in text
    mainline, ours = "100 | 100 (99–101) | 100", "100 | 111 (105–120) | 100"
    assert f"| zswap | zeroes | {mainline} | {ours} | 1.00 | 1.11 | 1.00 | no |" in text
    assert "| 80.0 % | 4-5 | 32 bits only |" in text and "| 90.0 % | 9 | not given |" in text
    assert "## Other runs of tests" in text and "| `-k bytes tests/e2e` |" in text  # it is not the whole suite
    assert "**22,000 pages verified**, 2,000 of them by trials" in text
    assert "Failed, `tests/e2e` on x86_64-release: cause not known." in text
    assert "kernel as it is" not in text and "**0123456789ab**" not in text


def test_the_kernel_as_it_is(tmp_path: Path) -> None:
    """What older kernels have is not taken for it."""
    records_of_each_kind(tmp_path)
    text = page.page(tmp_path, "0123456789ab")
    assert "`0123456789ab`, **bold** below: 2,000 pages verified by trials, in 2 guests and" in text
    assert "0 of them with a problem; 20,000 by tests." in text and "| **0123456789ab** |" in text
    other = page.page(tmp_path, "ba9876543210")
    assert "0 of them with a problem; 0 by tests." in other and "**0123456789ab**" not in other


def test_reasons_of_lines_that_all_run(tmp_path: Path) -> None:
    records_of_each_kind(tmp_path)
    (tmp_path / page.UNCOVERED).write_text('[[uncovered]]\nfile = "mm/vswap/gone.c"\nwhy = "?"\n')
    with pytest.raises(UsageError, match=r"does not have: mm/vswap/gone\.c"):
        page.page(tmp_path)


def test_what_belongs_to_a_class() -> None:
    """Its commands run its tests, which are there; every trial is in the class of all."""
    top = paths.repo_root()
    for one in CLASSES:
        assert all((top / name).exists() for name in one.files), one
        for name in one.files:
            assert any(name in line.split() for line in one.commands), (one.name, name)
    stress = next(one for one in CLASSES if one.name == "Stress")
    assert {trial.name for trial in TRIALS} == set(stress.trials)
    assert {name for one in CLASSES for name in one.trials} <= {trial.name for trial in TRIALS}


def test_runs_of_a_class() -> None:
    """All files of it in one run, or, of what takes hours, any; a part of a file is neither."""
    both, one, part = (
        Tally(told, "as marked", 1, 0, [], 0, 1.0, "0123456789ab", "2026-11-26")
        for told in ("--long tests/a.py tests/b.py", "--long tests/a.py", "--long -k c tests/a.py")
    )
    whole = Class("whole", "", (), files=("tests/a.py", "tests/b.py"))
    apart = replace(whole, name="apart", apart=True)
    assert [whole.has_run(run) for run in (both, one, part)] == [True, False, False]
    assert [apart.has_run(run) for run in (both, one, part)] == [True, True, False]


@pytest.mark.parametrize(
    ("ours", "good"),
    [((95.0, 105.0, 9.0), True),
     ((89.0, 90.0, 9.0), False), ((100.0, 111.0, 9.0), False), ((None, 1.0, 9.0), False)],
)
def test_within_ten_percent(ours: Figures, good: bool) -> None:
    assert Beside("zswap", "zeroes", (100.0, 100.0, 100.0), ours).good is good


def test_another_report_is_none_of_isolation(tmp_path: Path) -> None:
    file = tmp_path / "isolation.json"
    assert isolation.read(file) is None
    whole = {"machine": {}, "commit": "", "order": [], "date": "2026-11-25", "kernels": {}, "results": []}
    for content, said in (({}, "is not a report"), (whole, "no report of isolation")):
        file.write_text(json.dumps(content))
        with pytest.raises(UsageError, match=said):
            isolation.read(file)
    file.write_text(json.dumps({**whole, "kernels": {"vswap": {"sources_sha256": "01"}}}))
    with pytest.raises(UsageError, match="no results of the suite isolation"):
        isolation.read(file)


def test_every_defect_has_its_test() -> None:
    top = paths.repo_root()
    cases = "".join(path.read_text() for path in (top / "kernel/mm/vswap/tests").glob("*.c"))
    for defect in tomllib.loads((top / page.FOUND).read_text())["defect"]:
        name, _, function = defect["test"].partition("::")
        if name == "kunit":
            assert re.search(rf"KUNIT_CASE\w*\({function}\)", cases), defect
        else:
            assert f"def {function}(" in (top / "tests" / name).read_text(), defect


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trial", "luck"], "no trial 'luck'; there are: pressure, "),
        (["--on", "um"], "no kernel 'um'; expected ARCH-FLAVOUR"),
        (["--on", "um-rt"], "no kernel 'um-rt'; expected ARCH-FLAVOUR"),
        (["--trial", "folios"], "none of these trials is for any of these kernels"),
        (["--time", "soon"], "bad time 'soon'"),
        (["--seconds", "0"], "bad number of seconds"),
        (["--on", "um-debug", "--on", "x86_64-fast"], "no kernel 'x86_64-fast'"),
        (["--record", "/dev/null"], "is no list of trials"),
    ],
)
def test_bad_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stress", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stress", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(one.name in said for one in TRIALS)
