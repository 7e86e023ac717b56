# SPDX-License-Identifier: GPL-2.0
"""git apply in a directory that is no repository; git's environment there, and its complaint in a phrase."""

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from vswaplab import paths
from vswaplab.proc import SYSTEM, Runner

_FILE = re.compile(r"^(?=diff --git |--- (?:a/|/dev/null))", re.MULTILINE)


def environment(directory: Path) -> dict[str, str]:
    """For git in a directory: it finds neither a configuration nor a repository that is not its business."""
    return {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(directory.parent),
        "LC_ALL": "C",
    }


def _hunk(diff: bytes, name: str, line: int) -> str:
    """Number and header of the hunk of ``name`` that starts at this line of the file before it."""
    parts = _FILE.split(diff.decode(errors="replace"))
    text = "".join(part for part in parts if f" a/{name}" in part.partition("\n")[0])
    for number, header in enumerate(re.findall(r"^@@ .*$", text, re.MULTILINE), 1):
        if header.startswith((f"@@ -{line} ", f"@@ -{line},")):
            return f"hunk {number} ({header}) of {name}"
    return f"the hunk at line {line} of {name}"


def apply(diff: bytes, directory: Path, include: Sequence[str] = (), runner: Runner = SYSTEM) -> str:
    """Apply a diff to the files in ``directory``, or its part for the files ``include``.

    Returns "" when it applied, and what did not (the hunk, or git's own words) when not.
    """
    only = [f"--include={glob.escape(name)}" for name in include]
    with paths.scratch_dir() as scratch:
        text = scratch / "diff"
        text.write_bytes(diff)
        argv = ["git", "apply", "--whitespace=nowarn", *only, str(text)]
        result = runner.run(argv, cwd=directory, env=environment(directory), check=False)
    if result.returncode == 0:
        return ""
    if match := re.search(r"patch failed: (.*):(\d+)$", result.stderr, re.MULTILINE):
        return _hunk(diff, match[1], int(match[2]))
    return (result.stderr.strip().splitlines() or ["git apply failed"])[0].removeprefix("error: ")
