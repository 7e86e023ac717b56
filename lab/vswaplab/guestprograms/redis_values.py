# SPDX-License-Identifier: GPL-2.0
"""Loads a Redis server with the keys that redis-benchmark asks for, and checks a sample of them.

Runs inside the guest with any Python 3.11, alone:
    python3 redis_values.py SOCKET load COUNT
    python3 redis_values.py SOCKET check COUNT RESULT.json
"""

import json
import random
import socket
import sys
from pathlib import Path

VALUE = 1024  # bytes
NOISE = VALUE // 4  # of them that do not compress
BATCH = 128  # keys per round trip
SAMPLE = 4000  # keys that are checked
_random = random.Random(11)
_NOISE = _random.randbytes(1 << 20)
_TEXT = bytes(_random.choices(b"abcdefghij", k=64)) * (VALUE // 64)


def key(number: int) -> bytes:
    """As redis-benchmark -r writes it."""
    return b"key:%012d" % number


def value(number: int) -> bytes:
    """The value of a key: its number, noise, text."""
    head = b"%012d" % number
    at = number * 2654435761 % (len(_NOISE) - NOISE)
    return head + _NOISE[at : at + NOISE] + _TEXT[: VALUE - NOISE - len(head)]


def request(*words: bytes) -> bytes:
    """A request of the protocol."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def load(connection: socket.socket, count: int) -> None:
    """Store all values. Raises ConnectionError when the server refuses."""
    reader = connection.makefile("rb")
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        connection.sendall(request(b"MSET", *(part for n in numbers for part in (key(n), value(n)))))
        reply = reader.readline()
        if reply != b"+OK\r\n":
            raise ConnectionError(reply.decode(errors="replace").strip() or "the server went away")


def check(connection: socket.socket, count: int) -> dict[str, object]:
    """How many of a random sample are wrong."""
    reader = connection.makefile("rb")
    sample = random.Random(5).sample(range(count), min(SAMPLE, count))
    wrong = 0
    for number in sample:
        connection.sendall(request(b"GET", key(number)))
        head = reader.readline()
        if not head.startswith(b"$"):
            raise ConnectionError(head.decode(errors="replace").strip() or "the server went away")
        length = int(head[1:])
        found = reader.read(length + 2)[:-2] if length >= 0 else None
        wrong += found != value(number)
    return {"checked": len(sample), "wrong": wrong, "verified": wrong == 0 and bool(sample)}


def main(words: list[str]) -> int:
    """0 when all is well, 1 when a value is wrong."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(words[0])
    if words[1] == "load":
        load(connection, int(words[2]))
        return 0
    answer = check(connection, int(words[2]))
    Path(words[3]).write_text(json.dumps(answer))
    return int(answer["verified"] is not True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
