# SPDX-License-Identifier: GPL-2.0
"""Fetching from kernel.org, tried against a server in this process."""

import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vswaplab.errors import SourceError
from vswaplab.progress import Silent
from vswaplab.source import kernelorg

NAME = "linux-7.3.11.tar.xz"
CONTENT = os.urandom(700_000)


@dataclass
class Server:
    """What the server serves, how it misbehaves and what it was asked for."""

    url: str = ""
    content: bytes = CONTENT
    cut_after: int = 0  # bytes of the next answers after which the connection breaks
    broken_answers: int = 0  # how many of the next answers are an error 503
    ranges: list[str] = field(default_factory=list)

    def sums(self) -> bytes:
        digest = hashlib.sha256(CONTENT).hexdigest()
        other = "0" * 64
        return (
            "-----BEGIN PGP SIGNED MESSAGE-----\n"
            f"{other}  linux-7.3.9.tar.xz\n{digest}  {NAME}\n{other}  linux-7.30.99.tar.xz\n"
            f"{other}  linux-7.2.50.tar.xz\n{other}  linux-7.3.99.tar.gz\n"
        ).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = state.sums() if self.path == "/sha256sums.asc" else state.content
            if self.path not in ("/sha256sums.asc", f"/{NAME}"):
                return self.send_error(404)
            if state.broken_answers:
                state.broken_answers -= 1
                return self.send_error(503)
            start = 0
            if wanted := self.headers.get("Range"):
                state.ranges.append(wanted)
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(data):
                    return self.send_error(416)
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            body = data[start:]
            if state.cut_after and self.path == f"/{NAME}":
                body = body[: state.cut_after]
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{httpd.server_port}/"
        monkeypatch.setattr(kernelorg, "PAUSE", 0.0)
        yield state
        httpd.shutdown()


def fetch(server: Server, directory: Path) -> bytes:
    with kernelorg.fetched("7.3", directory, Silent(), server.url) as tarball:
        assert tarball.name == NAME
        return tarball.read_bytes()


def test_newest_point_release(server: Server, tmp_path: Path) -> None:
    assert fetch(server, tmp_path) == CONTENT
    assert os.listdir(tmp_path) == []


def test_resumes_after_a_broken_connection(server: Server, tmp_path: Path) -> None:
    server.cut_after = 300_000
    assert fetch(server, tmp_path) == CONTENT
    assert server.ranges == ["bytes=300000-", "bytes=600000-"]


def test_resumes_in_the_next_run(server: Server, tmp_path: Path) -> None:
    server.cut_after = 100_000
    with pytest.raises(SourceError, match="run the command again to resume"):
        fetch(server, tmp_path)
    assert (tmp_path / NAME).stat().st_size == 300_000
    server.cut_after = 0
    assert fetch(server, tmp_path) == CONTENT
    assert server.ranges[-1] == "bytes=300000-"


def test_complete_but_unchecked_download(server: Server, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(CONTENT)
    assert fetch(server, tmp_path) == CONTENT


def test_transient_errors_are_tried_again(server: Server, tmp_path: Path) -> None:
    server.broken_answers = 2
    assert fetch(server, tmp_path) == CONTENT


def test_too_many_errors(server: Server, tmp_path: Path) -> None:
    server.broken_answers = 3
    with pytest.raises(SourceError, match="503"):
        fetch(server, tmp_path)


def test_wrong_checksum_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.content = b"x" + CONTENT[1:]
    with pytest.raises(SourceError, match="checksum is wrong"):
        fetch(server, tmp_path)
    assert os.listdir(tmp_path) == []


def test_release_that_is_not_there(server: Server, tmp_path: Path) -> None:
    with (
        pytest.raises(SourceError, match=r"no release of 7\.4"),
        kernelorg.fetched("7.4", tmp_path, Silent(), server.url),
    ):
        pass


def test_missing_file_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    with (
        pytest.raises(SourceError, match="404"),
        kernelorg.fetched("7.3", tmp_path, Silent(), server.url + "elsewhere/"),
    ):
        pass
