# SPDX-License-Identifier: GPL-2.0
"""All reading and writing of the kernel's files, below a directory that stands for /.

A file that is missing or malformed gives None or nothing: kernels differ, and groups and
processes come and go. A file that is there but needs root is remembered in ``denied``.
"""

import os


class Kernel:
    """The files of a running kernel, or a copy of such files."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self.denied: list[str] = []

    def path(self, name: str) -> str:
        """The path of a file whose name starts with /."""
        return os.path.join(self.root, name.lstrip("/"))

    def _deny(self, name: str) -> None:
        if name not in self.denied:
            self.denied.append(name)

    def text(self, name: str) -> str | None:
        """What is in a file; None if it is not there or may not be read."""
        try:
            # A name may have a carriage return in it, which is not the end of a line.
            with open(self.path(name), encoding="utf-8", errors="surrogateescape", newline="") as file:
                return file.read()
        except PermissionError:
            self._deny(name)
        except (OSError, ValueError):  # not there, gone meanwhile, or no name of a file at all
            pass
        return None

    def word(self, name: str) -> str | None:
        """A file that holds one word; None for an empty one, too."""
        text = self.text(name)
        return (text.strip() or None) if text is not None else None

    def switch(self, name: str) -> bool:
        """A parameter of a module that is on."""
        return self.word(name) in ("Y", "1")

    def number(self, name: str) -> int | None:
        """A file that holds one number."""
        return as_number(self.text(name))

    def limit(self, name: str) -> int | None | str:
        """A limit of a control group: a number, "max", or None for neither."""
        word = self.word(name)
        return "max" if word == "max" else as_number(word)

    def table(self, name: str) -> dict[str, int]:
        """A file of lines "name number" or "Name: number kB"; kB become bytes, other lines are left out."""
        found: dict[str, int] = {}
        for line in (self.text(name) or "").splitlines():
            words = line.split()
            value = as_number(words[1]) if len(words) in (2, 3) else None
            if value is not None:
                found[words[0].rstrip(":")] = value * 1024 if words[2:] == ["kB"] else value
        return found

    def lines(self, name: str) -> list[str]:
        """The lines of a file."""
        return (self.text(name) or "").splitlines()

    def names(self, name: str) -> list[str]:
        """What is in a directory, sorted."""
        try:
            return sorted(os.listdir(self.path(name)))
        except PermissionError:
            self._deny(name)
        except OSError:
            pass
        return []

    def directories(self, name: str) -> list[str]:
        """The directories in a directory, sorted; no links."""
        try:
            with os.scandir(self.path(name)) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError:
            return []

    def exists(self, name: str) -> bool:
        """Whether there is such a file or directory."""
        return os.path.exists(self.path(name))

    def changed(self, name: str) -> float | None:
        """When a file, or the link itself, was made or changed: seconds since the epoch."""
        try:
            return os.lstat(self.path(name)).st_mtime
        except OSError:
            return None

    def chunk(self, name: str, offset: int, length: int) -> bytes | None:
        """Bytes from the middle of a binary file; None if it may not be read."""
        try:
            with open(self.path(name), "rb", buffering=0) as file:
                file.seek(offset)
                return file.read(length)
        except PermissionError:
            self._deny(name)
        except (OSError, ValueError):
            pass
        return None

    def write(self, name: str, text: str) -> None:
        """Write to a file that is there. Raises OSError."""
        descriptor = os.open(self.path(name), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def as_number(text: str | None) -> int | None:
    """The decimal number that a text is, or None."""
    text = (text or "").strip()
    digits = text[1:] if text.startswith("-") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 25 else None
