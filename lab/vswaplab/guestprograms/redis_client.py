# SPDX-License-Identifier: GPL-2.0
"""Fills a Redis server with values that can be computed again, reads them back, compares.

Runs inside the guest with any Python 3.11, alone, without the rest of the package:
    python3 redis_client.py SOCKET BYTES RESULT.json
"""

import json
import random
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

VALUE = 16_000  # bytes; with Redis's header just below the allocator's class of 16 KB
NOISE = VALUE // 5  # bytes of a value that do not compress
PARAGRAPH = 600  # bytes of text, repeated to fill a value
BATCH = 16  # values per round trip
DIFFERENCES = 20  # how many are reported
WORDS = (
    b"the page is in memory and the slot names it while the kernel moves what is cold to where there is room"
).split()
# Values are cut from these, so that making one costs next to nothing, also in an emulator.
_random = random.Random(7)
_TEXT = b" ".join(_random.choices(WORDS, k=20_000))
_NOISE = _random.randbytes(100_000)


def value(number: int) -> bytes:
    """The value of key ``number``: text-like, but for a fifth that does not compress."""
    place = number * 2654435761 % (1 << 32)
    head = b"document %d\n" % number
    at, noise_at = place % (len(_TEXT) - PARAGRAPH), (place >> 5) % (len(_NOISE) - NOISE)
    text = _TEXT[at : at + PARAGRAPH] * (VALUE // PARAGRAPH + 1)
    return head + _NOISE[noise_at : noise_at + NOISE] + text[: VALUE - NOISE - len(head)]


class Redis:
    """Just enough of the protocol: requests of byte strings, replies of strings and OK."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._reader = self._socket.makefile("rb", buffering=1 << 16)

    def send(self, *words: bytes) -> None:
        """Send one request."""
        parts = [b"*%d\r\n" % len(words)]
        parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
        self._socket.sendall(b"".join(parts))

    def line(self) -> bytes:
        """One line of the reply, its type included. Raises ConnectionError at its end."""
        text = self._reader.readline()
        if not text.endswith(b"\r\n"):
            raise ConnectionError("the server went away")
        if text.startswith(b"-"):
            raise ConnectionError(text.decode(errors="replace").strip())
        return text[:-2]

    def bulk(self) -> bytes | None:
        """One string of the reply; None for a key that is not there."""
        length = int(self.line()[1:])
        if length < 0:
            return None
        data: bytes = self._reader.read(length + 2)
        if len(data) != length + 2:
            raise ConnectionError("the server went away")
        return data[:-2]


def batches(count: int) -> Iterator[range]:
    """The numbers below ``count``, BATCH at a time."""
    for start in range(0, count, BATCH):
        yield range(start, min(start + BATCH, count))


def load(server: Redis, count: int) -> None:
    """Store all values."""
    for numbers in batches(count):
        words = [part for n in numbers for part in (b"doc:%d" % n, value(n))]
        server.send(b"MSET", *words)
        server.line()


def difference(number: int, found: bytes | None) -> str | None:
    """How ``found`` differs from the value of key ``number``; None if it does not."""
    expected = value(number)
    if found == expected:
        return None
    if found is None:
        return f"doc:{number} is missing"
    if len(found) != len(expected):
        return f"doc:{number} has {len(found)} bytes"
    places = [at for at in range(VALUE) if found[at] != expected[at]]
    bad = found[places[0] : places[-1] + 1]
    return f"doc:{number} differs in {len(places)} bytes, from {places[0]} to {places[-1]}: {bad[:48]!r}"


def check(server: Redis, count: int) -> list[str]:
    """Read all values; returns what is wrong with those that are not what was stored."""
    wrong = []
    for numbers in batches(count):
        server.send(b"MGET", *(b"doc:%d" % n for n in numbers))
        server.line()
        wrong += [text for n in numbers if (text := difference(n, server.bulk()))]
    return wrong


def main(path: str, size: int, result: Path) -> int:
    """0 when every value came back right, 1 when not, 3 when the server went away."""
    count, start = size // VALUE, time.monotonic()
    answer: dict[str, object] = {"values": count, "bytes": count * VALUE, "verified": False}
    code = 3
    try:
        server = Redis(path)
        load(server, count)
        answer["load_seconds"] = round(time.monotonic() - start, 3)
        start = time.monotonic()
        wrong = check(server, count)
        answer |= {"check_seconds": round(time.monotonic() - start, 3), "wrong": len(wrong), "verified": not wrong}
        if wrong:
            answer["differences"] = wrong[:DIFFERENCES]
        code = int(bool(wrong))
    except (OSError, ValueError) as error:
        answer["error"] = str(error) or type(error).__name__
    result.write_text(json.dumps(answer))
    sys.stdout.write(json.dumps(answer) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
