# SPDX-License-Identifier: GPL-2.0
"""The demonstration's Redis client, against a real server on the host and a lying one."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vswaplab.guestprograms import redis_client

COUNT = 300
DOCUMENTS = redis_client.Documents()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server with an empty data set; the path of its socket."""
    program = shutil.which("redis-server")
    assert program is not None, "the lab's bootstrap installs redis-server"
    path = tmp_path / "socket"
    argv = [program, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        limit = time.monotonic() + 20
        while not path.exists():
            assert time.monotonic() < limit
            time.sleep(0.02)
        yield str(path)
        process.kill()


def client(path: str, result: Path) -> tuple[int, dict[str, object]]:
    """Run it as the guest does; its exit code and what it wrote."""
    words = [path, "documents", str(COUNT * DOCUMENTS.size), str(result)]
    argv = [sys.executable, "-I", "-S", redis_client.__file__, *words]
    code = subprocess.run(argv, timeout=60).returncode
    return code, json.loads(result.read_text())


def test_values_differ_and_have_their_size() -> None:
    values = {DOCUMENTS.value(n) for n in range(1000)}
    assert len(values) == 1000
    assert {len(value) for value in values} == {DOCUMENTS.size}


def test_loads_and_verifies(server: str, tmp_path: Path) -> None:
    code, answer = client(server, tmp_path / "answer")
    assert code == 0
    assert answer["verified"] is True
    assert (answer["values"], answer["bytes"], answer["wrong"]) == (COUNT, COUNT * DOCUMENTS.size, 0)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((b"SETRANGE", b"doc:299", b"15998", b"??"), "doc:299 differs in 2 bytes, from 15998 to 15999: b'??'"),
        ((b"APPEND", b"doc:5", b"?"), "doc:5 has 16001 bytes"),
        ((b"DEL", b"doc:7"), "doc:7 is missing"),
    ],
)
def test_one_wrong_value_is_noticed(server: str, command: tuple[bytes, ...], told: str) -> None:
    connection = redis_client.Redis(server)
    connection.load(DOCUMENTS, COUNT)
    assert connection.check(DOCUMENTS, range(COUNT), DOCUMENTS.batch) == []
    connection.send(*command)
    connection.line()
    assert connection.check(DOCUMENTS, range(COUNT), DOCUMENTS.batch) == [told]


def test_the_keys_of_redis_benchmark(server: str, tmp_path: Path) -> None:
    def ran(*words: str) -> int:
        argv = [sys.executable, "-I", "-S", redis_client.__file__, server, *words]
        return subprocess.run(argv, timeout=60).returncode

    result = tmp_path / "answer"
    assert ran("load", str(COUNT)) == 0
    assert ran("check", str(COUNT), str(result)) == 0
    assert json.loads(result.read_text()) == {"checked": COUNT, "wrong": 0, "verified": True}
    connection = redis_client.Redis(server)
    connection.send(b"DEL", b"key:000000000007")
    connection.line()
    assert ran("check", str(COUNT), str(result)) == 1
    assert json.loads(result.read_text()) == {"checked": COUNT, "wrong": 1, "verified": False}


def test_server_that_goes_away(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def answer_once() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.close()

        thread = threading.Thread(target=answer_once)
        thread.start()
        code, answer = client(path, tmp_path / "answer")
        thread.join()
    assert code == 3
    assert answer["verified"] is False
    assert answer["error"]
