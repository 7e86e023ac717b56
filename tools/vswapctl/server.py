# SPDX-License-Identifier: GPL-2.0
"""A small HTTP server for metrics; for this machine alone unless others are allowed in."""

import ipaddress
import socket
import socketserver
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vswapctl.errors import CannotRead, CtlError, UsageError

CONTENT = "text/plain; version=0.0.4; charset=utf-8"


def parse(text: str, any_address: bool) -> tuple[str, int]:
    """Address and port of "127.0.0.1:9500", "[::1]:9500" or "localhost:9500"."""
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    host = "127.0.0.1" if host == "localhost" else host
    digits = port.isascii() and port.isdigit() and len(port) <= 5  # int() refuses thousands of them
    if not colon or not digits or int(port) > 65535:
        raise UsageError(f"--listen {text}: expected ADDRESS:PORT, such as 127.0.0.1:9500")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise UsageError(f"--listen {text}: {host!r} is no address, such as 127.0.0.1 or [::1]") from None
    if not loopback and not any_address:
        raise UsageError(f"--listen {text}: anybody could connect; use 127.0.0.1, or add --any-address")
    return host, int(port)


class Server(ThreadingHTTPServer):
    """Answers GET /metrics with what ``produce`` returns."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], produce: Callable[[], str]) -> None:
        self.produce = produce
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            super().__init__(address, Handler)
        except OSError as error:
            raise CtlError(f"cannot listen on {address[0]} port {address[1]}: {error.strerror}") from None

    def server_bind(self) -> None:
        """As HTTPServer's, but without asking the name service who we are."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """One line. A client that has gone before it got all is no error of ours."""
        error = sys.exception()
        if not isinstance(error, (ConnectionError, TimeoutError)):
            sys.stderr.write(f"vswapctl: a request failed: {error}\n")


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 10  # seconds for a client that says nothing

    def do_GET(self) -> None:
        """The metrics, or where they are."""
        if self.path.partition("?")[0] != "/metrics":
            self._answer(404, "text/plain", "see /metrics\n")
            return
        try:
            self._answer(200, CONTENT, self.server.produce())
        except CannotRead as error:
            self._answer(503, "text/plain", f"{error}\n")

    def _answer(self, code: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a scrape every few seconds would fill the journal."""
