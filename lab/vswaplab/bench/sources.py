# SPDX-License-Identifier: GPL-2.0
"""Which sources of ours a kernel was compiled from: one checksum, for reports to record."""

import os
import re
from collections.abc import Collection
from pathlib import Path

from vswaplab import hashing
from vswaplab.proc import SYSTEM, Runner
from vswaplab.series import stored
from vswaplab.series.stored import Store
from vswaplab.source import linux

BASE = "mainline"
_NOT_COMPILED = ("Documentation/", "MAINTAINERS")
# The first group is kept: what looks like a comment in a string or a character is none.
_COMMENT = re.compile(rb"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL)


def code(name: str, data: bytes) -> bytes:
    """What the compiler makes of the file ``name``: C without its comments and blank lines."""
    if not name.endswith((".c", ".h")):
        return data
    lines = _COMMENT.sub(lambda found: found[1] or b" ", data).splitlines()
    return b"\n".join(line.rstrip() for line in lines if line.strip())


def _compiled(store: Store, topics: Collection[str] | None, runner: Runner) -> dict[str, bytes]:
    """Names and content of what is compiled, as the series (or its ``topics``) leaves it."""
    base = Path(os.devnull)
    if stored.edited_names(store):
        base = linux.pristine(linux.fetch(verify=False, runner=runner), runner=runner)
    return {
        name: content.data if content else b""
        for name, content in stored.render(store, base, topics=topics, runner=runner).items()
        if not name.startswith(_NOT_COMPILED) and "/tests/" not in name
    }


def checksum(store: Store, topics: Collection[str] | None = None, *, runner: Runner = SYSTEM) -> str:
    """A checksum over names and content of what is compiled: documentation and tests do not count.

    It is of the files as the series (or its ``topics``) leaves them, so that neither the text of a
    commit nor another cut of the series changes it. The base is needed if files of it are edited.
    Raises SourceError and TreeError.
    """
    return hashing.of_contents(_compiled(store, topics, runner).items())


def of_files(store: Store, *, runner: Runner = SYSTEM) -> tuple[str, dict[str, str]]:
    """checksum(), and of each file the beginning of a checksum of its code()."""
    files = _compiled(store, None, runner)
    return hashing.of_contents(files.items()), {
        name: hashing.of_data(code(name, data))[:12] for name, data in files.items()
    }


def of_lab(name: str) -> str:
    """The checksum for one of the lab's kernels, as patches/ and kernel/ are now."""
    return checksum(stored.ours(), (stored.BASE_TOPIC,) if name == BASE else None)
