# SPDX-License-Identifier: GPL-2.0
"""Sizes and times: read what a user types, print what a user reads."""

import re

from vswaplab.errors import UsageError

_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+)([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes for "4096", "64K", "256M", "2G", "1T" (binary units; a final B or iB is allowed).

    Raises UsageError for anything else, zero included.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _FACTORS[match[2].upper()] if match else 0
    if size <= 0:
        raise UsageError(f"bad size {text!r}: expected a positive number with K, M, G or T, such as 256M")
    return size


def parse_seconds(text: str) -> float:
    """Seconds for "90", "90s", "30m", "2h"; 0 is allowed. Raises UsageError for anything else."""
    match = re.fullmatch(r"(\d+)([smh]?)", text.strip())
    if match is None:
        raise UsageError(f"bad time {text!r}: expected a number with s, m or h, such as 30m")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def format_size(size: int | float) -> str:
    """Bytes as a short text in binary units: "512 B", "64.0 KB", "1.5 GB"."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"


def format_seconds(seconds: float) -> str:
    """Seconds as "0.25 s", "12.3 s", "4 min 05 s", "2 h 03 min"."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
