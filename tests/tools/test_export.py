# SPDX-License-Identifier: GPL-2.0
"""vswapctl export: the text, the file, the server, and the dashboard that uses its names."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import parser

from tests.tools import fakes, promtext
from tests.tools.conftest import Ran
from vswapctl import server
from vswapctl.errors import UsageError

TOOLS = Path(__file__).resolve().parents[2] / "tools"
DASHBOARD = TOOLS / "vswapctl/grafana.json"


def test_values(ours: Path, ctl: Ran) -> None:
    code, out, err = ctl(ours, "export", "--groups", "2")
    assert (code, err) == (0, "")
    samples, types = promtext.parse(out)
    assert samples["vswap_slot_bytes"][(("backing", "zswap"),)] == 300 * fakes.MIB
    assert samples["vswap_mode"] == {
        (("mode", mode),): float(mode == "auto") for mode in ("never", "auto", "always")
    }
    assert (
        samples["vswap_pages_total"][(("event", "zswpout"),)] == 80000 and types["vswap_pages_total"] == "counter"
    )
    assert samples["vswap_ram_gained_bytes"][()] == (400 - 102) * fakes.MIB - 300 * fakes.PAGES * 8
    assert samples["vswap_reserve_total"][()] == 0
    assert samples["vswap_refuse_attempts_total"][()] == 12
    assert (("event", "vswap_refuse"),) not in samples["vswap_pages_total"]  # which are no pages
    assert samples["vswap_device_contiguous_bytes"][()] == 753 * fakes.MIB
    stalled = {labels[0][1]: value for labels, value in samples["vswap_memory_stalled_seconds_total"].items()}
    assert stalled == {"some": 2.5, "full": 0.25}
    assert samples["vswap_device_used_bytes"][(("device", "/dev/vda2"),)] == 20 * fakes.MIB
    assert [labels[0][1] for labels in samples["vswap_group_swap_bytes"]] == ["/user.slice", "/user.slice/shell"]
    assert all(kind == ("counter" if name.endswith("_total") else "gauge") for name, kind in types.items())


def test_official_parser(ours: Path, ctl: Ran) -> None:
    """The same by Prometheus' own code."""
    families = list(parser.text_string_to_metric_families(ctl(ours, "export", "--groups", "9")[1]))
    assert len(families) > 15 and all(family.documentation for family in families)


def test_every_machine(machine: Path, ctl: Ran) -> None:
    code, out, err = ctl(machine, "export", "--groups", "5")
    assert (code, err) == (0, "")
    samples, _ = promtext.parse(out)
    virtual = (machine / "sys/kernel/mm/vswap").exists()
    assert samples["vswap_available"][()] == virtual and ("vswap_slot_bytes" in samples) == virtual
    assert "vswap_group_swap_bytes" not in promtext.parse(ctl(machine, "export")[1])[0]


def test_labels_are_quoted(ours: Path, ctl: Ran) -> None:
    (ours / "proc/swaps").write_text(fakes.swaps(('/a"b\\134c\\012d', "file", 1, 0, 1)))
    samples, _ = promtext.parse(ctl(ours, "export")[1])
    assert list(samples["vswap_device_size_bytes"]) == [(("device", '/a"b\\c\nd'),)]


def test_names_that_are_no_text(ours: Path, ctl: Ran) -> None:
    """Each has a series of its own, whatever others are called; names that are text are as they are."""
    names = [b"x\xff", b"x\\xff", b"x\\\xff", b"x\\\\xff", b"x\xff/y", b"x\xff/\xff", b"xff"]
    names.append("\u00ff\\x2d".encode())
    for name in names:
        directory = ours / "sys/fs/cgroup" / os.fsdecode(name)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "memory.swap.current").write_text(f"{4096 * 99 if name == names[0] else 4096}\n")
    samples, _ = promtext.parse(ctl(ours, "export", "--groups", "99")[1])  # which finds what is there twice
    groups = {labels[0][1] for labels in samples["vswap_group_swap_bytes"]}
    assert groups >= {"/x//xff", "/x\\xff", "/x\\//xff", "/x//xff///xff", "/\u00ff\\x2d"}
    assert len([group for group in groups if "slice" not in group]) == len(names)


def test_to_a_terminal(ours: Path, ctl: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """No name moves its cursor. Elsewhere names are as they are."""
    fakes.write(ours, fakes.group("/x\x1b[2Jy", swap=9))
    assert 'group="/x\x1b[2Jy"' in ctl(ours, "export", "--groups", "9")[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out = ctl(ours, "export", "--groups", "9")[1]
    assert 'group="/x\\x1b[2Jy"' in out and out.count("\n") > 20 and "\x1b" not in out


def test_file(ours: Path, ctl: Ran, tmp_path: Path) -> None:
    """It is replaced, not rewritten; anybody may read it; nothing else is left behind."""
    path = tmp_path / "metrics" / "vswap.prom"
    path.parent.mkdir()
    path.write_text("before\n")
    with path.open() as before:
        assert ctl(ours, "export", "--output", str(path)) == (0, "", "")
        assert before.read() == "before\n"
    promtext.parse(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o644 and os.listdir(path.parent) == ["vswap.prom"]


def test_file_by_a_link(ours: Path, ctl: Ran, tmp_path: Path) -> None:
    """The link stays, whether the file is there or not."""
    (tmp_path / "there").mkdir()
    for name in ("old", "new"):
        (tmp_path / name).symlink_to(f"there/{name}")
    (tmp_path / "there/old").write_text("before\n")
    for name in ("old", "new"):
        assert ctl(ours, "export", "--output", str(tmp_path / name)) == (0, "", "")
        assert (tmp_path / name).is_symlink()
        promtext.parse((tmp_path / "there" / name).read_text())
    assert sorted(os.listdir(tmp_path / "there")) == ["new", "old"]


def test_no_regular_file(ours: Path, ctl: Ran, tmp_path: Path) -> None:
    """A FIFO gets the text, and is one still; so is a device."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    assert ctl(ours, "export", "--output", str(fifo)) == (0, "", "")
    promtext.parse(os.read(reader, 65536).decode())
    os.close(reader)
    assert fifo.is_fifo()
    (tmp_path / "null").symlink_to("/dev/null")
    assert ctl(ours, "export", "--output", str(tmp_path / "null")) == (0, "", "")
    assert (tmp_path / "null").is_symlink() and Path("/dev/null").is_char_device()


def test_interrupted_while_it_writes(
    ours: Path, ctl: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left behind, and the file is as it was."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x.prom").write_text("before\n")
    monkeypatch.setattr(os, "fsync", lambda _number: signal.raise_signal(signal.SIGINT))
    assert ctl(ours, "export", "--output", str(tmp_path / "out/x.prom"))[0] == 130
    assert os.listdir(tmp_path / "out") == ["x.prom"] and (tmp_path / "out/x.prom").read_text() == "before\n"


@pytest.mark.parametrize("option", ["--output", "--listen"])
def test_nothing_to_write_to(ours: Path, ctl: Ran, option: str) -> None:
    """As of a variable that is not set."""
    code, out, err = ctl(ours, "export", option, "")
    assert (code, out) == (2, "") and option in err and err.count("\n") == 1


@pytest.mark.parametrize("name", ["nowhere/x.prom", "directory"])
def test_bad_file(ours: Path, ctl: Ran, tmp_path: Path, name: str) -> None:
    (tmp_path / "directory" / "inner").mkdir(parents=True)
    code, out, err = ctl(ours, "export", "--output", str(tmp_path / name))
    assert (code, out) == (1, "") and err.startswith("vswapctl: cannot write") and err.count("\n") == 1
    assert not list(tmp_path.glob(".vswapctl-*"))


@pytest.fixture
def served(ours: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vswapctl", "--root", str(ours), "export", "--listen", "127.0.0.1:0"],
        env={**os.environ, "PYTHONPATH": str(TOOLS)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr
    line = process.stderr.readline()
    match = re.match(r"(http://127\.0\.0\.1:\d+)/metrics;", line)
    assert match, line
    yield process, match[1]
    process.kill()
    process.wait()
    process.stderr.close()


def test_scraped(served: tuple[subprocess.Popen[str], str], ours: Path) -> None:
    process, at = served
    with urllib.request.urlopen(f"{at}/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        samples, _ = promtext.parse(answer.read().decode())
    assert samples["vswap_refused_bytes"][()] == 4 * fakes.MIB
    for path, code in (("/", 404), ("/metricsx", 404)):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"{at}{path}", timeout=30)
        assert error.value.code == code
        error.value.close()
    (ours / "proc/meminfo").unlink()
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{at}/metrics", timeout=30)
    assert error.value.code == 503 and b"cannot read" in error.value.read()
    error.value.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130


def test_clients_that_leave(served: tuple[subprocess.Popen[str], str]) -> None:
    """A client that resets its connection is nothing to complain about in the journal; others are answered."""
    process, at = served
    host, _, port = at.removeprefix("http://").partition(":")
    for _ in range(5):
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    with urllib.request.urlopen(f"{at}/metrics", timeout=30) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    assert process.stderr and process.stderr.read() == "vswapctl: interrupted\n"


def test_port_in_use(served: tuple[subprocess.Popen[str], str], ours: Path, ctl: Ran) -> None:
    code, _, err = ctl(ours, "export", "--listen", served[1].removeprefix("http://"))
    assert code == 1 and "cannot listen on 127.0.0.1" in err and "in use" in err


@pytest.mark.parametrize("text", ["0.0.0.0:9500", "[::]:9500", "192.0.2.1:1", ":9500"])
def test_other_addresses_are_refused(ours: Path, ctl: Ran, text: str) -> None:
    code, _, err = ctl(ours, "export", "--listen", text)
    assert code == 2 and err.count("\n") == 1
    assert text == ":9500" or "--any-address" in err


@pytest.mark.parametrize(
    "text", ["127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:" + 5000 * "1", "host:1", ""]
)
def test_bad_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="such as"):
        server.parse(text, True)


def test_addresses() -> None:
    assert server.parse("localhost:9500", False) == ("127.0.0.1", 9500)
    assert server.parse("[::1]:0", False) == ("::1", 0)
    assert server.parse("0.0.0.0:9500", True) == ("0.0.0.0", 9500)


def test_options_that_do_not_go_together(ours: Path, ctl: Ran) -> None:
    assert ctl(ours, "export", "--any-address")[0] == 2
    assert ctl(ours, "export", "--output", "x", "--listen", "127.0.0.1:0")[0] == 2


def test_dashboard(ours: Path, tmp_path: Path, ctl: Ran) -> None:
    """Every metric, label and label's value in it is exported, by one machine or another."""
    exported: promtext.Samples = {}
    for root in (ours, fakes.mainline_zram(tmp_path / "zram")):
        exported |= promtext.parse(ctl(root, "export", "--groups", "9")[1])[0]
    board = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert len(queries) > 10
    used = set()
    for query in queries:
        for name, matchers in re.findall(r"\b(vswap_[a-z_]+)(?:\{([^}]*)\})?", query):
            used.add(name)
            assert name in exported, query
            labels = {pair for sample in exported[name] for pair in sample}
            for key, value in re.findall(r'(\w+)="([^"]*)"', matchers):
                assert (key, value) in labels or key == "instance", query
    assert used >= {"vswap_slot_bytes", "vswap_ram_gained_bytes", "vswap_pages_total", "vswap_group_zswap_bytes"}
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in board["panels"]]
    assert len(set(places)) == len(places) and len({p["id"] for p in board["panels"]}) == len(places)
