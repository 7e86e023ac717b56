# SPDX-License-Identifier: GPL-2.0
"""The Debian packages of the project as make builds them, kept in the cache."""

import os
from collections.abc import Mapping, Sequence
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


def _make(target: str, patterns: Sequence[str], key: str, runner: Runner) -> list[Path]:
    """What "make" builds, one package for each pattern; from the cache if it was built from the same files."""
    out = cache() / f"{target.partition(' ')[0]}-{key[:16]}"
    with paths.locked(cache() / ".packages.lock"):
        if not out.is_dir():
            # Where it is built is large, and has its objects in ccache.
            with paths.scratch_dir(cache()) as directory:
                env: Mapping[str, str] = {**paths.MAKE_ENV, "HOME": os.environ.get("HOME", "/root")}
                argv = ["make", "-C", str(paths.repo_root()), *target.split(), f"OUT={directory}"]
                result = runner.run(argv, env=env, check=False, timeout=_HOURS)
                built = [path for pattern in patterns for path in directory.glob(pattern)]
                if result.returncode != 0 or len(built) != len(patterns):
                    log = paths.cache_dir() / "log" / f"{target.partition(' ')[0]}.log"
                    paths.write_file(log, (result.stdout + result.stderr).encode())
                    raise BuildError(f"make {target} failed: {result.last_line()}; log: {log}")
                with paths.atomic_dir(out) as kept:
                    for path in built:
                        path.rename(kept / path.name)
    return [next(out.glob(pattern)) for pattern in patterns]


def _key(config: str, runner: Runner) -> str:
    """Of everything that a kernel is made from, besides "small" or with this .config."""
    base = linux.fetch(verify=False, runner=runner).version
    own = checksum_of(
        paths.patches_dir(), paths.kernel_dir(), paths.configs_dir(), paths.repo_root() / "packaging" / "kernel"
    )
    return hashing.of_text(f"{base} {own} {config}")


def kernel(*, runner: Runner = SYSTEM) -> Path:
    """The package linux-image of "make deb CONFIG=small". Raises BuildError."""
    return _make("deb CONFIG=small", ["linux-image-*.deb"], _key("", runner), runner)[0]


def with_modules(config: Path, *, runner: Runner = SYSTEM) -> list[Path]:
    """linux-image and linux-headers of "make deb" with a .config that has modules. Raises BuildError."""
    patterns = ["linux-image-*.deb", "linux-headers-*.deb"]
    return _make(f"deb CONFIG={config}", patterns, _key(config.read_text(), runner), runner)


def tools(*, runner: Runner = SYSTEM) -> Path:
    """The package vswap-tools of "make deb-tools". Raises BuildError."""
    key = checksum_of(paths.repo_root() / "tools", paths.repo_root() / "packaging" / "vswap-tools")
    return _make("deb-tools", ["vswap-tools_*.deb"], key, runner)[0]
