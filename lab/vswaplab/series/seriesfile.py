# SPDX-License-Identifier: GPL-2.0
"""kernel/SERIES: which part of kernel/ goes into which patch of the series.

    # a comment
    cover: Subject of the cover letter

      Its text, indented by two spaces.

    patch: mm/swap: subject of the first patch

      Its message.

    files:
      mm/vswap/backing.h
      mm/vswap/Makefile /backing/
      mm/swapfile.c.patch 1,4-6
      mm/swapfile.c.patch /swap_info_get|cluster_lock/

A name alone takes everything of that file which no other line takes. With a selector it takes
a part: for a .patch its change blocks, for a whole file its lines. "1,4-6" counts them from 1;
/regex/ takes those with a matching line (for a .patch: a line that is removed or added).
Every block and line of kernel/ has to be in exactly one patch.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from vswaplab.errors import TreeError


@dataclass(frozen=True)
class Part:
    """One line below "files:": a file of kernel/, all of it or a part."""

    text: str
    name: str
    numbers: frozenset[int] | None = None
    pattern: re.Pattern[str] | None = None

    @property
    def selects(self) -> bool:
        """Does it take a part only?"""
        return self.numbers is not None or self.pattern is not None


@dataclass
class Patch:
    """One mail of the series; the cover letter has no parts."""

    subject: str
    body: str = ""
    parts: list[Part] = field(default_factory=list)

    @property
    def message(self) -> str:
        """The commit message."""
        return f"{self.subject}\n\n{self.body}".rstrip() + "\n"


@dataclass
class Series:
    """The whole file."""

    cover: Patch
    patches: list[Patch]


def _numbers(text: str) -> frozenset[int]:
    """{1, 4, 5, 6} for "1,4-6"; raises ValueError."""
    result: set[int] = set()
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        result.update(range(int(first), int(last or first) + 1))
    return frozenset(result)


def _part(text: str) -> Part:
    """A line below "files:"; raises ValueError and re.error."""
    name, _, selector = text.partition(" ")
    selector = selector.strip()
    if not selector:
        return Part(text, name)
    if len(selector) > 2 and selector[0] == selector[-1] == "/":
        return Part(text, name, pattern=re.compile(selector[1:-1]))
    return Part(text, name, numbers=_numbers(selector))


def _dedent(lines: list[str]) -> str:
    return "\n".join(line.removeprefix("  ") for line in lines).strip("\n") + "\n"


class _Reader:
    """Takes the file line by line."""

    def __init__(self) -> None:
        self.cover: Patch | None = None
        self.patches: list[Patch] = []
        self._current: Patch | None = None
        self._body: list[str] = []
        self._in_files = False

    def finish(self) -> None:
        """End the patch that is being read."""
        if self._current:
            self._current.body = _dedent(self._body)
        self._body = []

    def _start(self, patch: Patch) -> None:
        self.finish()
        self._current, self._in_files = patch, False

    def line(self, text: str) -> None:
        """Take one line; raises ValueError saying what is wrong with it."""
        if text.startswith("#"):
            return
        keyword, colon, rest = text.partition(":")
        if text.startswith("  ") or not text.strip():
            self._indented(text)
        elif not colon or keyword not in ("cover", "patch", "files"):
            raise ValueError("expected cover:, patch:, files: or an indented line")
        elif keyword == "files":
            if not self._current or self._current is self.cover:
                raise ValueError("files: belongs to a patch:")
            self._in_files = True
        elif keyword == "cover":
            if self.cover:
                raise ValueError("a second cover:")
            self.cover = Patch(rest.strip())
            self._start(self.cover)
        else:
            self.patches.append(Patch(rest.strip()))
            self._start(self.patches[-1])

    def _indented(self, text: str) -> None:
        if self._in_files and self._current:
            if text.strip():
                self._current.parts.append(_part(text.strip()))
        elif self._current:
            self._body.append(text)
        elif text.strip():
            raise ValueError("text before the first cover: or patch:")


def parse(text: str) -> Series:
    """Read the text of kernel/SERIES. Raises TreeError naming the line."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.line(line.rstrip())
        except (ValueError, re.error) as error:
            raise TreeError(f"kernel/SERIES line {number}: {error}") from error
    reader.finish()
    if not reader.cover or not reader.patches:
        raise TreeError("kernel/SERIES needs one cover: and at least one patch:")
    for patch in reader.patches:
        if not patch.subject or not patch.parts:
            raise TreeError(f"kernel/SERIES: patch {patch.subject!r} needs a subject and files")
    return Series(reader.cover, reader.patches)


def load(kernel: Path) -> Series:
    """Read kernel/SERIES. Raises TreeError."""
    path = kernel / "SERIES"
    if not path.is_file():
        raise TreeError("there is no kernel/SERIES that orders the patches")
    return parse(path.read_text())
