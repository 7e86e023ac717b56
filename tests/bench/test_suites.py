# SPDX-License-Identifier: GPL-2.0
"""What the suites make of files: figures, and refusals; and the programs that run in a guest."""

import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from vswaplab.bench import suites
from vswaplab.bench.suite import Room, Unverified
from vswaplab.bench.suites import kbuild
from vswaplab.guestprograms import redis_client, sqlite_queries

TIME = json.dumps({"seconds": 2.0, "user_seconds": 0.5, "sys_seconds": 1.5, "exit_code": 0, "signal": 0})
PERCENTILES = {"p50_us": 1.0, "p90_us": 2.0, "p99_us": 3.0, "p99_9_us": 4.0}
CSV = '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms"\n'

GOOD = {
    "memhog": ({"time.json": TIME}, {"real": 2.0, "sys": 1.5}),
    "kbuild": ({"time.json": TIME, "same": ""}, {"real": 2.0, "sys": 1.5}),
    "redis": (
        {"out.json": '{"verified": true}', "get.csv": CSV + '"GET","5000.5","1","1","1","1","7.5"\n'},
        {"requests": 5000.5, "p99": 7.5},
    ),
    "sqlite": ({"out.json": '{"verified": true, "per_second": 9.0, "p99_ms": 3.0}'}, {"queries": 9.0, "p99": 3.0}),
    "exit": ({"out.json": '{"verified": true, "exit_us": 5}'}, {"exit": 5}),
    "fork": (
        {"out.json": '{"verified": true, "fork_us": 5, "child_exit_us": 6}'}, {"fork": 5, "child's exit": 6},
    ),
    "swapoff": (
        {"time.json": TIME, "out.json": '{"verified": true, "swapped_bytes": 8192}'},
        {"swapoff": 2.0, "rate": 1.0},
    ),
    "leftover": (
        {
            "out.json": '{"verified": true}',
            "kept": "4096\n",
            "meminfo": "MemFree: 2048 kB\nMemAvailable: 3072 kB\nHugePages: 0\n",
            "zoneinfo": "  pages free 7\n cpu: 0\n  count:    100\n cpu: 1\n  count:  156\n  high: 9\n",
        },
        {"free": 3.0, "available": 4.0},
    ),
    "refault": (
        {
            "time.json": TIME,
            "out.json": '{"verified": true, "bytes": 409600, "swapped_bytes": 409600, "check_seconds": 0.5}',
            "faults": "pgmajfault 7\npgmajfault 57\n",
        },
        {"reclaim": 2.0, "refault": 0.5, "refault rate": 200.0, "major faults": 0.5},
    ),
    "tmpfs": (
        {"out.json": '{"verified": true, "write_mb_s": 2.5, "read_mb_s": 5, "remove_us": 6}'},
        {"write": 2.5, "read": 5, "remove": 6},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(GOOD))
def test_figures(name: str) -> None:
    files, expected = GOOD[name]
    suite = suites.find(name)
    assert suite.parse(files) == expected
    assert {metric.name for metric in suite.metrics} == set(expected)


@pytest.mark.parametrize("name", list(GOOD))
def test_wrong_data_is_no_figure(name: str) -> None:
    files = dict(GOOD[name][0])
    if "out.json" in files:
        files["out.json"] = json.dumps({**json.loads(files["out.json"]), "verified": False})
    elif "same" in files:
        del files["same"]
    else:
        files["time.json"] = json.dumps({**json.loads(TIME), "exit_code": 1})
    with pytest.raises(Unverified):
        suites.find(name).parse(files)


def test_touch_gives_all_percentiles() -> None:
    files = {"out.json": json.dumps({"verified": True, "read": PERCENTILES, "write": PERCENTILES})}
    found = suites.find("touch").parse(files)
    assert found["read p50"] == 1.0 and found["write p99.9"] == 4.0 and len(found) == 8


def test_what_was_not_reclaimed_is_no_refault() -> None:
    found = {"verified": True, "bytes": 64 << 20, "swapped_bytes": 32 << 20, "check_seconds": 0.5}
    with pytest.raises(Unverified, match="swapped out 32 of 64 MB"):
        suites.find("refault").parse({"time.json": TIME, "out.json": json.dumps(found)})


def test_memory_with_pages_of_the_working_set_is_not_left_over() -> None:
    files = GOOD["leftover"][0] | {"kept": f"{4 << 20}\n"}
    with pytest.raises(Unverified, match="4096 KB"):
        suites.find("leftover").parse(files)


def test_a_refault_needs_no_limit() -> None:
    """Where there is no group with one it makes its own, and reads back what fits into memory."""
    suite, room = suites.find("refault"), Room(96 << 20, 1, "um")
    assert "${CG:-/sys/fs/cgroup/bench}" in suite.script(room) and "--stay" in suite.script(room)
    assert suite.working_set(room) < room.bytes - (20 << 20)


PROCESSES = {"usemem1": 1, "usememN": 8, "usemem30": 30, "usemem48": 48, "usemem52": 52}


@pytest.mark.parametrize("name", list(PROCESSES))
def test_usemem_divides_the_working_set(name: str) -> None:
    """Among any number of processes, in a small machine too: what is lost is less than a page of each."""
    suite, room, processes = suites.find(name), Room(96 << 20, 1, "um"), PROCESSES[name]
    timed = next(line for line in suite.script(room).splitlines() if "stopwatch" in line)
    size = int(timed.split()[-1].removesuffix("K")) << 10
    assert 0 <= suite.working_set(room) - processes * size < processes * 4096 and f"-n {processes} " in timed
    assert ("-R" in timed) == (name == "usemem52")


def test_the_shell_text_is_shell() -> None:
    for suite in suites.SUITES:
        if isinstance(suite, kbuild.Kbuild):
            continue  # its script needs a kernel
        text = suite.script(Room(256 << 20, 1, suite.arches[0]))
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, f"{suite.name}: {done.stderr}"


# Of what was published: working set and RAM in MB, and who is to find the same ratio here.
SIZES = {
    "usemem1": (56 << 10, 32 << 10), "usememN": (32 * 1536, 32 << 10), "usemem30": (300 << 10, 150 << 10),
    "usemem48": (48 << 10, 16 << 10), "usemem52": (52 * 300, 16 << 10), "memhog": (48 << 10, 16 << 10),
    "redis": (2560, 1536), "redis-2g": (2560, 2048),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SIZES))
def test_working_set_and_ram_are_in_the_published_ratio(name: str) -> None:
    (size, ram), suite, room = SIZES[name], suites.find(name), Room(96 << 20, 1, "um")
    assert suite.working_set(room) / room.bytes == pytest.approx(size / ram, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "jobs", "ram"), [("kbuild32", 32, 1.7), ("kbuild48", 48, 4), ("kbuild96", 96, 8)]
)
def test_compilers_have_the_published_share(
    name: str, jobs: int, ram: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kbuild.Kbuild, "sources", lambda _self: tmp_path)
    script = suites.find(name).script(Room(int(ram * (1 << 30)), 1, "x86_64"))
    assert f"make -s -j{jobs} " in script
    assert ("hugepages-64kB" in script) == (name == "kbuild32")
    assert ("transparent_hugepage/enabled" in script) == (name == "kbuild96")


def test_folios_of_64_kb_are_not_of_2_mb() -> None:
    """By default the kernel takes those of 2 MB first."""
    for name in ("refault-64k", "usemem30"):
        script = suites.find(name).script(Room(96 << 20, 1, "x86_64"))
        assert script.index("echo never > $T/enabled") < script.index("begin\n"), name


@pytest.mark.parametrize("name", ["redis", "redis-bgsave", "redis-2g"])
def test_redis_asks_for_random_keys_of_all(name: str) -> None:
    """With as many requests as keys only where it is published so."""
    line = next(line for line in suites.find(name).script(Room(96 << 20, 1, "um")).splitlines() if " -r " in line)
    words = line.split()
    keys, requests = (int(words[words.index(option) + 1]) for option in ("-r", "-n"))
    assert (requests == keys) == (name == "redis-2g") and requests <= keys


def test_no_requests_are_no_result() -> None:
    with pytest.raises(Unverified, match="nothing"):
        suites.find("redis").parse({"out.json": '{"verified": true}', "get.csv": CSV})


def test_working_sets_are_multiples_of_the_room() -> None:
    room = Room(256 << 20, 2, "um")
    for suite in suites.SUITES:
        if suite.pressures == ("none",):
            continue  # nothing has to be swapped for lack of room
        assert suite.working_set(room) == pytest.approx(room.bytes * suite.times, abs=4096)
        assert suite.working_set(room) % 4096 == 0


def test_sqlite_program_verifies(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.touch()
    result = tmp_path / "out.json"
    assert sqlite_queries.main(2 << 20, 500, tmp_path / "ready", go, result) == 0
    found = json.loads(result.read_text())
    assert found["verified"] is True and found["queries"] == 500 and (tmp_path / "ready").exists()
    database = sqlite3.connect(":memory:")
    sqlite_queries.fill(database, 1000)
    size = database.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    assert size == pytest.approx(1000 * sqlite_queries.ROW, rel=0.1), "ROW says how large a row is"
    database.execute("UPDATE t SET c = 'spoiled'")
    assert sqlite_queries.query(database, 1000, 50)["wrong"] == 50


def test_redis_client_are_of_their_size_and_differ() -> None:
    kind = redis_client.BenchmarkValues()
    values = {kind.value(number) for number in random.Random(1).sample(range(10**6), 500)}
    assert len(values) == 500 and {len(value) for value in values} == {kind.size}
    assert kind.key(7) == b"key:000000000007"


def test_guest_programs_run_without_the_package() -> None:
    for module in (redis_client, sqlite_queries):
        argv = [sys.executable, "-I", "-S", str(module.__file__)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
        assert "IndexError" in done.stderr, "it got as far as its arguments"


def test_kbuild_splits_a_command() -> None:
    words = (
        "gcc -Wp,-MMD,mm/.a.o.d -nostdinc -I../include -include ../k.h -D__KERNEL__ -fno-pic -Os -Wall -mno-sse"
        " -DX=1 -c -o mm/a.o ../mm/a.c"
    ).split()
    every, flags = kbuild.split_command(words, "../mm/a.c")
    assert flags == ["-fno-pic", "-Os", "-mno-sse"]
    wanted = "-nostdinc -I../include -include ../k.h -D__KERNEL__ -fno-pic -Os -Wall -mno-sse -DX=1"
    assert every == wanted.split()
