# SPDX-License-Identifier: GPL-2.0
"""Compiles the plugin, once for each state of its source and version of QEMU."""

import re
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import BuildError, ToolError
from vswaplab.guest.qemu import PROGRAM
from vswaplab.proc import SYSTEM, Runner

SOURCE = Path(__file__).with_name("counts.c")
LIMIT_SECONDS = 60.0
NEW_API = 9  # the version of QEMU that takes version 2 of the API and later ones only


def api_version(said: str) -> int:
    """The version of the API for the QEMU that says this of itself. Raises ToolError."""
    found = re.search(r"version (\d+)\.", said)
    if not found:
        raise ToolError(f"{PROGRAM} does not tell its version: {said.splitlines()[:1]}")
    return 2 if int(found[1]) >= NEW_API else 1


def build(*, runner: Runner = SYSTEM) -> Path:
    """The plugin. Raises BuildError when it does not compile, ToolError without QEMU or a compiler."""
    api = api_version(runner.run([PROGRAM, "--version"], timeout=LIMIT_SECONDS).stdout)
    name = hashing.of_contents([(f"api {api}", SOURCE.read_bytes())])[:20]
    cache = paths.cache_dir() / "profile"
    target = cache / f"counts-{name}.so"
    with paths.locked(cache / ".lock"):
        if not target.is_file():
            with paths.scratch_dir(cache) as scratch:
                made = scratch / target.name
                words = ("-O2", "-Wall", "-Wextra", "-shared", "-fPIC", f"-DAPI_VERSION={api}")
                result = runner.run(
                    ["gcc", *words, "-o", str(made), str(SOURCE)], check=False, timeout=LIMIT_SECONDS
                )
                if result.returncode != 0:
                    raise BuildError(f"QEMU's plugin does not compile: {result.last_line()}")
                made.rename(target)
    return target
