# SPDX-License-Identifier: GPL-2.0
"""The Debian packages of the project as make builds them, kept in the cache."""

import os
from collections.abc import Mapping
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import BuildError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.source import linux

_HOURS = 4 * 3600.0


def cache() -> Path:
    """Where packages and root file systems are kept."""
    return paths.cache_dir() / "debian"


def checksum_of(*directories: Path) -> str:
    """A checksum over the names and contents of all files in these directories."""
    files = sorted(
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return hashing.of_contents((str(path.relative_to(paths.repo_root())), path.read_bytes()) for path in files)


def _make(target: str, pattern: str, key: str, runner: Runner) -> Path:
    """The one package of this name that "make" builds; from the cache if it was built from the same files."""
    out = cache() / f"{target.partition(' ')[0]}-{key[:16]}"
    with paths.locked(cache() / ".packages.lock"):
        if not out.is_dir():
            # Where it is built is large, and has its objects in ccache.
            with paths.scratch_dir(cache()) as directory:
                env: Mapping[str, str] = {**paths.MAKE_ENV, "HOME": os.environ.get("HOME", "/root")}
                argv = ["make", "-C", str(paths.repo_root()), *target.split(), f"OUT={directory}"]
                result = runner.run(argv, env=env, check=False, timeout=_HOURS)
                built = sorted(directory.glob(pattern))
                if result.returncode != 0 or len(built) != 1:
                    log = paths.cache_dir() / "log" / f"{target.partition(' ')[0]}.log"
                    paths.write_file(log, (result.stdout + result.stderr).encode())
                    raise BuildError(f"make {target} failed: {result.last_line()}; log: {log}")
                with paths.atomic_dir(out) as kept:
                    built[0].rename(kept / built[0].name)
    return next(out.glob(pattern))


def kernel(*, runner: Runner = SYSTEM) -> Path:
    """The package linux-image of "make deb CONFIG=small". Raises BuildError."""
    base = linux.fetch(verify=False, runner=runner).version
    own = checksum_of(
        paths.patches_dir(), paths.kernel_dir(), paths.configs_dir(), paths.repo_root() / "packaging" / "kernel"
    )
    key = hashing.of_text(f"{base} {own}")
    return _make("deb CONFIG=small", "linux-image-*.deb", key, runner)


def tools(*, runner: Runner = SYSTEM) -> Path:
    """The package vswap-tools of "make deb-tools". Raises BuildError."""
    key = checksum_of(paths.repo_root() / "tools", paths.repo_root() / "packaging" / "vswap-tools")
    return _make("deb-tools", "vswap-tools_*.deb", key, runner)
