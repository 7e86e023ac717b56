# SPDX-License-Identifier: GPL-2.0
"""Read-only point queries on a SQLite database whose page cache is larger than memory.

Runs inside the guest with any Python 3.11, alone:
    python3 sqlite_queries.py BYTES QUERIES READY GO RESULT.json
The database is in memory, so its page cache is all of it. When it is filled, the file READY is
written; the queries begin when GO is there. Every row that is read is compared.
"""

import json
import random
import sqlite3
import sys
import time
from pathlib import Path

NOISE = 36  # bytes of a row that do not compress: with zswap alone all has to fit, compressed, into RAM
ROW = 210  # bytes of the database that a row takes
BATCH = 2000
_POOL = random.Random(3).randbytes(1 << 20)
_DIGITS = "".join(random.Random(4).choices("0123456789", k=1 << 16))


def row(number: int) -> tuple[int, str, bytes]:
    """Id, text and noise: computed again when the row is checked."""
    at = number * 2654435761 % (len(_DIGITS) - 12)
    noise_at = number * 40503 % (len(_POOL) - NOISE)
    return number, _DIGITS[at : at + 12] * 12, _POOL[noise_at : noise_at + NOISE]


def fill(database: sqlite3.Connection, rows: int) -> None:
    """The table, in batches."""
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, c TEXT, pad BLOB)")
    for start in range(0, rows, BATCH):
        numbers = range(start, min(start + BATCH, rows))
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", (row(n) for n in numbers))
    database.commit()


def query(database: sqlite3.Connection, rows: int, queries: int) -> dict[str, object]:
    """Random ids, each row compared; seconds are those of the queries alone."""
    chosen = random.Random(9)
    times, wrong = [], 0
    begin = time.monotonic()
    for _ in range(queries):
        number = chosen.randrange(rows)
        start = time.perf_counter()
        found = database.execute("SELECT id, c, pad FROM t WHERE id = ?", (number,)).fetchone()
        times.append(time.perf_counter() - start)
        wrong += found != row(number)
    elapsed = time.monotonic() - begin
    times.sort()
    return {
        "rows": rows, "queries": queries, "seconds": elapsed, "per_second": queries / elapsed,
        "p99_ms": times[int(queries * 0.99)] * 1000, "wrong": wrong, "verified": wrong == 0,
    }  # fmt: skip


def main(size: int, queries: int, ready: Path, go: Path, result: Path) -> int:
    """0 when every row was right."""
    database = sqlite3.connect(":memory:")
    rows = size // ROW
    fill(database, rows)
    ready.touch()
    while not go.exists():
        time.sleep(0.05)
    answer = query(database, rows, queries)
    result.write_text(json.dumps(answer))
    return int(answer["verified"] is not True)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:6])))
