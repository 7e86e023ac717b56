# SPDX-License-Identifier: GPL-2.0
"""Takes the files that a guest hands back into a directory of the host, as they come."""

import os
from pathlib import Path, PurePosixPath


class ResultTree:
    """What was in $RESULTS in the guest, below ``top``, an empty directory.

    Names are those that the guest sends: relative to $RESULTS, a byte per character. Whatever it
    sends, nothing is written elsewhere: links are made last, when no file follows that could go
    through one.
    """

    def __init__(self, top: Path) -> None:
        self._top = top
        self._links: list[tuple[Path, bytes]] = []

    def _place(self, name: str) -> Path:
        """Where it goes. Raises ValueError for a name that leads out of the directory."""
        path = PurePosixPath(os.fsdecode(name.encode("latin-1")))
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise ValueError(f"a bad name for a result: {name!r}")
        return self._top / path

    def add(self, name: str, data: bytes) -> None:
        """The next piece of a file; its first one makes it. Raises ValueError and OSError."""
        with self._place(name).open("ab") as stream:
            stream.write(data)

    def directory(self, name: str) -> None:
        """A directory; it comes before what is in it. Raises ValueError and OSError."""
        self._place(name).mkdir()

    def link(self, name: str, target: bytes) -> None:
        """A symbolic link, made by finish(). Raises ValueError."""
        self._links.append((self._place(name), target))

    def finish(self) -> None:
        """Everything has come. Raises OSError."""
        for path, target in self._links:
            path.symlink_to(os.fsdecode(target))
