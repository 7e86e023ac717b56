# SPDX-License-Identifier: GPL-2.0
"""Fetch a kernel tarball from kernel.org, resuming what an earlier try left behind."""

import contextlib
import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from vswaplab import hashing
from vswaplab.errors import SourceError
from vswaplab.progress import Progress

BASE = "https://cdn.kernel.org/pub/linux/kernel/v7.x/"
TRIES = 3
PAUSE = 1.0  # seconds before the second try; twice that before the third
_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 18
_TRANSIENT = (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException)
_Fetched = TypeVar("_Fetched")


def newest(sums: str, series: str) -> tuple[str, str]:
    """The file name and checksum of the newest point release in a sha256sums file."""
    pattern = rf"^([0-9a-f]{{64}})  (linux-{re.escape(series)}\.(\d+)\.tar\.xz)$"
    found = re.findall(pattern, sums, re.MULTILINE)
    if not found:
        raise SourceError(f"no release of {series} is listed there")
    checksum, name, _ = max(found, key=lambda entry: int(entry[2]))
    return name, checksum


def _retried(url: str, fetch: Callable[[], _Fetched], advice: str = "") -> _Fetched:
    """What ``fetch`` returns; transient errors are tried again.

    Raises SourceError, with ``advice`` when trying again later may help.
    """
    reason = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(attempt * PAUSE)
        try:
            return fetch()
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise SourceError(f"{url}: {error}") from error
            reason = str(error)
        except _TRANSIENT as error:
            reason = str(error)
    raise SourceError(f"{url}: {reason}{advice}")


def _small_file(url: str) -> bytes:
    """The content of a small file; transient errors are tried again."""

    def read() -> bytes:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:
            return bytes(response.read())

    return _retried(url, read)


def _continue(url: str, partial: Path, progress: Progress) -> None:
    """Fetch the part of ``url`` that ``partial`` does not have yet."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to fetch
            return
        raise
    with response:
        resumed = response.status == 206
        have = have if resumed else 0
        total = have + int(response.headers.get("Content-Length") or 0)
        with partial.open("ab" if resumed else "wb") as stream:
            while chunk := response.read(_CHUNK):
                stream.write(chunk)
                have += len(chunk)
                progress.update("fetching from kernel.org (KB)", have >> 10, total >> 10)
        if have < total:
            raise ConnectionError("the connection ended early")


def _download(url: str, partial: Path, checksum: str, progress: Progress) -> None:
    """Make ``partial`` the whole, verified file; keeps what it has when the network fails."""
    _retried(url, lambda: _continue(url, partial, progress), "; run the command again to resume")
    if hashing.of_file(partial) == checksum:
        return
    partial.unlink()
    raise SourceError(f"{url}: the checksum is wrong; what was fetched is removed, try again")


@contextlib.contextmanager
def fetched(series: str, directory: Path, progress: Progress, base: str = "") -> Iterator[Path]:
    """Give the verified tarball of the newest point release; it is removed afterwards.

    ``directory`` keeps an incomplete download for the next try. Raises SourceError.
    """
    base = base or BASE
    progress.update(f"fetching Linux {series} from kernel.org")
    name, checksum = newest(_small_file(f"{base}sha256sums.asc").decode(errors="replace"), series)
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / name
    _download(base + name, partial, checksum, progress)
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
