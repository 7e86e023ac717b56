# SPDX-License-Identifier: GPL-2.0
"""Sizes, times and names as a user reads them."""

import os
import re

PAGE = os.sysconf("SC_PAGE_SIZE")


def size(count: float | None) -> str:
    """Bytes as a short text in binary units: "512 B", "64.0 KB", "1.5 GB"; "-" for an unknown number."""
    if count is None:
        return "-"
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def in_bytes(count: int | None) -> int | None:
    """Pages in bytes; None stays unknown."""
    return None if count is None else count * PAGE


def pages(count: int | None) -> str:
    """Pages as a size."""
    return size(in_bytes(count))


def percent(part: float | None, whole: float | None) -> str:
    """ "12 %", or "-" if that makes no sense."""
    if part is None or not whole:
        return "-"
    return f"{100 * part / whole:.0f} %"


def seconds(value: float) -> str:
    """ "12 s", "4 min 05 s", "2 h 03 min"."""
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def printable(text: str) -> str:
    """A name that others chose, without what would move a terminal's cursor, or is no text."""
    return "".join(char if char.isprintable() else "?" for char in text)


def text(name: str) -> str:
    """A name that may be no UTF-8 as text that no other name becomes: no path has "//" in it."""
    return re.sub("[\udc80-\udcff]", lambda byte: f"//x{ord(byte[0]) - 0xDC00:02x}", name)


def to_terminal(lines: str) -> str:
    """Lines without what would move a terminal's cursor: such characters are escaped as in Python."""
    shown = (char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in lines)
    return "".join(shown)
