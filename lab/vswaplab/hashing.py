# SPDX-License-Identifier: GPL-2.0
"""Checksums (SHA-256, in hexadecimal) of texts, files, and sets of files."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def of_text(text: str) -> str:
    """The checksum of a text."""
    return of_data(text.encode())


def of_data(data: bytes) -> str:
    """The checksum of some bytes."""
    return hashlib.sha256(data).hexdigest()


def of_file(path: Path) -> str:
    """The checksum of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def of_contents(entries: Iterable[tuple[str, bytes]]) -> str:
    """A checksum over what things are called and what they hold, in this order."""
    digest = hashlib.sha256()
    for label, data in entries:
        digest.update(f"{label}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
