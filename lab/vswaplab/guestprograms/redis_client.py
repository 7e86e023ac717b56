# SPDX-License-Identifier: GPL-2.0
"""Fills a Redis server with values that can be computed again, reads them back, compares.

Runs inside the guest with any Python 3.11, alone, without the rest of the package:
    python3 redis_client.py SOCKET documents BYTES RESULT.json   load as many bytes, check all
    python3 redis_client.py SOCKET load COUNT                    load the keys of redis-benchmark
    python3 redis_client.py SOCKET check COUNT RESULT.json       check a sample of these
"""

import json
import random
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

DIFFERENCES = 20  # how many are reported
SAMPLE = 4000  # keys of redis-benchmark that are checked


class Values(Protocol):
    """Keys and values by number; ``size`` is a value's bytes, ``batch`` the keys per round trip."""

    size: int
    batch: int

    def key(self, number: int) -> bytes:
        """The name of a value."""
        ...

    def value(self, number: int) -> bytes:
        """Its content."""
        ...


class Documents:
    """Text-like values, but for a fifth that does not compress.

    They are cut from a pool, so that making one costs next to nothing, also in an emulator.
    """

    size = 16_000  # with Redis's header just below the allocator's class of 16 KB
    batch = 16
    _noise_size = size // 5
    _paragraph = 600  # bytes of text, repeated to fill a value
    _words = (
        b"the page is in memory and the slot names it while the kernel moves what is cold to where there is room"
    ).split()

    def __init__(self) -> None:
        pool = random.Random(7)
        self._text = b" ".join(pool.choices(self._words, k=20_000))
        self._noise = pool.randbytes(100_000)

    def key(self, number: int) -> bytes:
        """doc:NUMBER"""
        return b"doc:%d" % number

    def value(self, number: int) -> bytes:
        """A heading with the number, noise, paragraphs that are all the same."""
        place = number * 2654435761 % (1 << 32)
        head = b"document %d\n" % number
        at = place % (len(self._text) - self._paragraph)
        noise_at = (place >> 5) % (len(self._noise) - self._noise_size)
        text = self._text[at : at + self._paragraph] * (self.size // self._paragraph + 1)
        noise = self._noise[noise_at : noise_at + self._noise_size]
        return head + noise + text[: self.size - self._noise_size - len(head)]


class BenchmarkValues:
    """What redis-benchmark asks for: its keys, and values of the size that it is told."""

    size = 1024
    batch = 128
    _noise_size = size // 4  # of it that does not compress

    def __init__(self) -> None:
        pool = random.Random(11)
        self._noise = pool.randbytes(1 << 20)
        self._text = bytes(pool.choices(b"abcdefghij", k=64)) * (self.size // 64)

    def key(self, number: int) -> bytes:
        """As redis-benchmark -r writes it."""
        return b"key:%012d" % number

    def value(self, number: int) -> bytes:
        """The number, noise, text."""
        head = b"%012d" % number
        at = number * 2654435761 % (len(self._noise) - self._noise_size)
        noise = self._noise[at : at + self._noise_size]
        return head + noise + self._text[: self.size - self._noise_size - len(head)]


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

    def load(self, values: Values, count: int) -> None:
        """Store the first ``count`` values."""
        for numbers in batches(range(count), values.batch):
            words = [part for n in numbers for part in (values.key(n), values.value(n))]
            self.send(b"MSET", *words)
            self.line()

    def check(self, values: Values, numbers: Sequence[int], batch: int) -> list[str]:
        """Read values, ``batch`` per round trip; returns what is wrong with those that differ."""
        wrong = []
        for some in batches(numbers, batch):
            self.send(b"MGET", *(values.key(n) for n in some))
            self.line()
            wrong += [text for n in some if (text := difference(values, n, self.bulk()))]
        return wrong


def batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """The numbers, ``size`` at a time."""
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


def difference(values: Values, number: int, found: bytes | None) -> str | None:
    """How ``found`` differs from a value; None if it does not."""
    expected, key = values.value(number), values.key(number).decode()
    if found == expected:
        return None
    if found is None:
        return f"{key} is missing"
    if len(found) != len(expected):
        return f"{key} has {len(found)} bytes"
    places = [at for at in range(len(expected)) if found[at] != expected[at]]
    bad = found[places[0] : places[-1] + 1]
    return f"{key} differs in {len(places)} bytes, from {places[0]} to {places[-1]}: {bad[:48]!r}"


def documents(path: str, size: int, result: Path) -> int:
    """0 when every value came back right, 1 when not, 3 when the server went away."""
    values = Documents()
    count, start = size // values.size, time.monotonic()
    answer: dict[str, object] = {"values": count, "bytes": count * values.size, "verified": False}
    code = 3
    try:
        server = Redis(path)
        server.load(values, count)
        answer["load_seconds"] = round(time.monotonic() - start, 3)
        start = time.monotonic()
        wrong = server.check(values, range(count), values.batch)
        answer |= {"check_seconds": round(time.monotonic() - start, 3), "wrong": len(wrong), "verified": not wrong}
        if wrong:
            answer["differences"] = wrong[:DIFFERENCES]
        code = int(bool(wrong))
    except (OSError, ValueError) as error:
        answer["error"] = str(error) or type(error).__name__
    result.write_text(json.dumps(answer))
    sys.stdout.write(json.dumps(answer) + "\n")
    return code


def check_sample(path: str, count: int, result: Path) -> int:
    """0 when all of a random sample are right, 1 when not."""
    sample = random.Random(5).sample(range(count), min(SAMPLE, count))
    wrong = Redis(path).check(BenchmarkValues(), sample, 1)
    answer = {"checked": len(sample), "wrong": len(wrong), "verified": bool(sample) and not wrong}
    result.write_text(json.dumps(answer))
    return int(not answer["verified"])


def main(path: str, what: str, number: int, *result: str) -> int:
    """Do one of the things above."""
    if what == "documents":
        return documents(path, number, Path(*result))
    if what == "check":
        return check_sample(path, number, Path(*result))
    Redis(path).load(BenchmarkValues(), number)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
