# SPDX-License-Identifier: GPL-2.0
"""A patch as a mail, as git format-patch writes it and git am takes it; and the trailers of its message."""

import email.header
import email.utils
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vswaplab.errors import TreeError

TOPIC, ADDS = "Topic", "Adds"  # our own trailers: they are not in what is mailed
SIGNED = "Signed-off-by"

_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): +(\S.*)")
_PREFIX = re.compile(r"\[PATCH[^]]*\] *")
_DIFF = re.compile(rb"^diff --git ", re.MULTILINE)
_LINK = re.compile(rb"^(?:new|deleted) (?:file )?mode (?:120000|160000)$", re.MULTILINE)


@dataclass(frozen=True)
class Mail:
    """What a mail says; ``author`` is "Name <address>", ``date`` seconds and zone, as git has them."""

    author: str
    date: str
    message: str
    diff: bytes = b""

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


def _header(value: str) -> str:
    """A header's text, its encoded words decoded."""
    parts = email.header.decode_header(value)
    return "".join(part.decode(code or "utf-8") if isinstance(part, bytes) else part for part, code in parts)


def _headers(text: str) -> dict[str, str]:
    """The headers of a mail by lower-case name, their lines joined."""
    lines = re.sub(r"\n[ \t]+", " ", text).splitlines()
    found = (line.partition(":") for line in lines if not line.startswith("From "))
    headers = {name.lower(): value.strip() for name, _, value in found}
    # Names with dots, commas or brackets are quoted.
    name, address = email.utils.parseaddr(headers.get("from", ""))
    author = {"from": f"{_header(name)} <{address}>"} if address else {}
    return {key: _header(value) for key, value in headers.items()} | author


def git_date(value: str) -> str:
    """A mail's date as git has it: seconds and zone. Raises ValueError."""
    parsed = email.utils.parsedate_tz(value)
    if parsed is None:
        raise ValueError(f"no date: {value!r}")
    zone = (parsed[9] or 0) // 60
    sign = "-" if zone < 0 else "+"
    return f"{email.utils.mktime_tz(parsed)} {sign}{abs(zone) // 60:02}{abs(zone) % 60:02}"


def parse(data: bytes, name: str) -> Mail:
    """Read a mail; ``name`` is what errors call it. Raises TreeError when it is none."""
    start = _DIFF.search(data)
    before, diff = (data[: start.start()], data[start.start() :]) if start else (data, b"")
    try:
        head, _, body = before.decode().partition("\n\n")
        headers = _headers(head)
        if headers.get("content-transfer-encoding", "8bit").lower() not in ("8bit", "7bit"):
            raise ValueError("its text is encoded; git format-patch writes it as it is")
        author, subject, date = (headers[key] for key in ("from", "subject", "date"))
        stamp = git_date(date)
    except KeyError as error:
        raise TreeError(
            f"{name} is not a mail of git format-patch: it has no {error.args[0].capitalize()}:"
        ) from error
    except (ValueError, LookupError) as error:
        raise TreeError(f"{name} is not a mail of git format-patch: {error}") from error
    if re.search(r"^--- a/", body, re.MULTILINE):
        raise TreeError(f"{name} has a patch without lines 'diff --git'; git format-patch writes them")
    if _LINK.search(diff):
        raise TreeError(f"{name} has a symbolic link; the series has plain files only")
    body = re.split(r"^---$", body, maxsplit=1, flags=re.MULTILINE)[0]
    message = f"{_PREFIX.sub('', subject, count=1)}\n\n{body.strip()}".rstrip() + "\n"
    return Mail(author, stamp, message, diff)


def _split(message: str) -> tuple[str, list[str]]:
    """The message without its trailers, and their lines; no lines when it ends in something else."""
    text, separator, last = message.rstrip("\n").rpartition("\n\n")
    lines = last.splitlines()
    if separator and any(_TRAILER.fullmatch(line) for line in lines):
        if all(_TRAILER.fullmatch(line) or line[:1] in (" ", "\t", "[", "(") for line in lines):
            return text, lines
    return message.rstrip("\n"), []


def trailers(message: str, key: str) -> list[str]:
    """The values of one kind of trailer, in their order."""
    matches = (_TRAILER.fullmatch(line) for line in _split(message)[1])
    return [match[2].strip() for match in matches if match and match[1].lower() == key.lower()]


def _joined(text: str, lines: Sequence[str]) -> str:
    return "\n\n".join([text, *(["\n".join(lines)] if lines else [])]) + "\n"


def without(message: str, keys: Collection[str]) -> str:
    """The message without these trailers."""
    text, lines = _split(message)
    unwanted = {key.lower() for key in keys}
    return _joined(text, [line for line in lines if line.partition(":")[0].lower() not in unwanted])


def with_adds(message: str, names: Sequence[str]) -> str:
    """The message with one trailer for each whole file, behind its topic, and no others of the kind."""
    text, lines = _split(without(message, [ADDS]))
    place = next((i + 1 for i, line in enumerate(lines) if line.startswith(f"{TOPIC}:")), len(lines))
    return _joined(text, [*lines[:place], *(f"{ADDS}: {name}" for name in sorted(names)), *lines[place:]])


def touched(diff: bytes) -> list[str]:
    """The files that a diff of git without renames is about, each once."""
    names: dict[str, None] = {}
    for line in re.findall(rb"^diff --git (.*)$", diff, re.MULTILINE):
        half = line.decode(errors="replace")[: (len(line.decode(errors="replace")) - 1) // 2]
        names[half.removeprefix("a/")] = None
    return list(names)


def created(diff: bytes) -> list[str]:
    """Those of them that it creates."""
    found = re.split(rb"^(?=diff --git )", diff, flags=re.MULTILINE)
    return [touched(part)[0] for part in found if re.search(rb"\Adiff --git .*\nnew file mode ", part)]
