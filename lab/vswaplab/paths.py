# SPDX-License-Identifier: GPL-2.0
"""Where things are, and how files come into being: whole or not at all."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

# For every make the lab starts: "make test" must not hand its own flags down, and no user's
# setting may change what is built.
MAKE_ENV = {
    "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": "0", "KBUILD_OUTPUT": "", "KCFLAGS": "", "LC_ALL": "C",
}  # fmt: skip


def repo_root() -> Path:
    """The checkout this package runs from (it is installed in editable mode)."""
    return Path(__file__).resolve().parents[2]


def cache_dir() -> Path:
    """Where everything fetched or built is kept: ``$XDG_CACHE_HOME/vswap`` or ``~/.cache/vswap``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "vswap"


def kernel_dir() -> Path:
    """The files that the series adds to the kernel tree, whole."""
    return repo_root() / "kernel"


def patches_dir() -> Path:
    """The series: its commits as mails, by topic."""
    return repo_root() / "patches"


def bench_kernel_dir() -> Path:
    """What the flavour "bench" adds to every kernel: whole files, and NAME.patch for the base's NAME."""
    return repo_root() / "kernel-bench"


def configs_dir() -> Path:
    """The fragments of kernel configuration."""
    return repo_root() / "configs"


def workloads_dir() -> Path:
    """The sources of the programs that scripts run in a guest."""
    return repo_root() / "workloads"


def guest_init_dir() -> Path:
    """The sources of a guest's first process."""
    return repo_root() / "guest" / "init"


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a temporary name beside ``path``; on success rename it to ``path``, else remove it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        temporary.chmod(0o644)
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write ``data`` to ``path`` in one step (temporary name, then rename)."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(data)
        temporary.chmod(mode)


def write_output(path: Path, data: bytes) -> None:
    """Write what a user asked for: as write_file(), but into what is no file, such as /dev/stdout, directly."""
    if path.exists() and not path.is_file():
        path.write_bytes(data)
    else:
        write_file(path, data)


@contextlib.contextmanager
def atomic_dir(path: Path) -> Iterator[Path]:
    """The same as atomic_file() for a directory; ``path`` must not exist when it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        temporary.chmod(0o755)
        yield temporary
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def scratch_dir(parent: Path | None = None) -> Iterator[Path]:
    """A directory for the time of a with block, in ``parent`` if what is in it is to be moved there."""
    with tempfile.TemporaryDirectory(prefix=".vswap-" if parent else "vswap-", dir=parent) as name:
        yield Path(name)


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on the file ``path`` (made if missing); waits for another holder, unless both share it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
