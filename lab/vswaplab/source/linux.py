# SPDX-License-Identifier: GPL-2.0
"""The kernel source the project is based on: found, fetched, verified, kept in the cache.

``$cache/source/linux-7.3.Y.tar.xz`` lies beside ``….sha256``; a file without that second one
does not count. A tarball named by VSWAP_LINUX_TARBALL is copied to ``$cache/source/local/``
and goes before everything else. ``$cache/source/linux-7.3.Y/`` is the unpacked, pristine
source; build trees share its files by hard links, so nothing may write to them in place.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import SourceError, ToolError, UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.source import apt, kernelorg

SERIES = "7.3"  # every point release of it is accepted
OVERRIDE = "VSWAP_LINUX_TARBALL"
_SUFFIXES = (".tar.xz", ".tar.gz", ".tar.zst", ".tar.bz2", ".tar")


@dataclass(frozen=True)
class Source:
    """A tarball in the cache, whose content had the checksum ``sha256`` when it was stored."""

    path: Path
    version: str
    sha256: str


def tarball_version(tarball: Path, runner: Runner = SYSTEM) -> str:
    """The kernel version a tarball holds, from its top Makefile.

    Reads the archive to its end, so a truncated or damaged one is noticed here.
    Raises SourceError when it is no kernel tarball.
    """
    pattern = ["--wildcards", "--no-wildcards-match-slash", "*/Makefile"]
    result = runner.run(["tar", "-xOf", str(tarball), *pattern], check=False)
    if result.returncode != 0:
        raise SourceError(f"{tarball} is not a complete kernel tarball: {result.last_line()}")
    fields = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)$", result.stdout, re.MULTILINE))
    if len(fields) != 3:
        raise SourceError(f"{tarball} is not a kernel tarball: its Makefile names no version")
    return f"{fields['VERSION']}.{fields['PATCHLEVEL']}.{fields['SUBLEVEL']}"


def checked_version(tarball: Path, runner: Runner = SYSTEM) -> str:
    """The version of a tarball; raises SourceError unless it is a 7.3.y."""
    version = tarball_version(tarball, runner)
    if not version.startswith(f"{SERIES}."):
        raise SourceError(f"{tarball} is Linux {version}; the project needs {SERIES}.y")
    return version


def _suffix(tarball: Path) -> str:
    for suffix in _SUFFIXES:
        if tarball.name.endswith(suffix):
            return suffix
    raise UsageError(f"{tarball} is not a tarball (expected one of: {', '.join(_SUFFIXES)})")


def store(tarball: Path, directory: Path, runner: Runner = SYSTEM) -> Source:
    """Copy a tarball into the cache under its version, whole or not at all, with its checksum.

    Raises SourceError when it is damaged or of another version.
    """
    version = checked_version(tarball, runner)
    target = directory / f"linux-{version}{_suffix(tarball)}"
    sidecar = Path(f"{target}.sha256")
    with paths.atomic_file(target) as temporary:
        shutil.copyfile(tarball, temporary)
        checksum = hashing.of_file(temporary)
        sidecar.unlink(missing_ok=True)
    paths.write_file(sidecar, f"{checksum}  {target.name}\n".encode())
    return Source(target, version, checksum)


def _stored(tarball: Path) -> Source | None:
    """The Source for a file in the cache, or None if it has no checksum beside it."""
    match = re.fullmatch(r"linux-(\d+\.\d+\.\d+)\.tar(\.\w+)?", tarball.name)
    sidecar = Path(f"{tarball}.sha256")
    if not match or not sidecar.is_file():
        return None
    words = sidecar.read_text().split()
    return Source(tarball, match[1], words[0]) if words else None


def _point_release(source: Source) -> int:
    return int(source.version.rsplit(".", 1)[1])


def cached(directory: Path) -> Source | None:
    """The newest source in the cache, not verified."""
    found = [_stored(path) for path in directory.glob(f"linux-{SERIES}.*.tar*")]
    known = [source for source in found if source]
    return max(known, key=_point_release, default=None)


def _damaged(source: Source) -> bool:
    return hashing.of_file(source.path) != source.sha256


def _override(text: str, directory: Path, runner: Runner) -> Source:
    """The source for the tarball a user named; copied once, and again when it changes."""
    tarball = Path(text).expanduser().absolute()
    if not tarball.is_file():
        raise UsageError(f"{OVERRIDE}={text}: no such file")
    stat = tarball.stat()
    identity = {"path": str(tarball), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    origin = directory / "origin.json"
    if origin.is_file() and json.loads(origin.read_text()) == identity:
        kept = cached(directory)
        if kept:
            return kept
    shutil.rmtree(directory, ignore_errors=True)
    try:
        source = store(tarball, directory, runner)
    except SourceError as error:
        shutil.rmtree(directory, ignore_errors=True)
        raise UsageError(f"{OVERRIDE}: {error}") from error
    paths.write_file(origin, json.dumps(identity).encode())
    return source


def _fetch_new(directory: Path, runner: Runner, progress: Progress) -> Source:
    """Fetch from Debian, else from kernel.org. Raises SourceError saying what to do."""
    reasons = []
    progress.update(f"fetching Linux {SERIES} from Debian")
    try:
        with apt.fetched(f"linux-source-{SERIES}", directory.parent / "apt", runner) as tarball:
            progress.update("checking the source")
            return store(tarball, directory, runner)
    except (ToolError, SourceError) as error:
        reasons.append(f"Debian: {error}")
    try:
        with kernelorg.fetched(SERIES, directory / "partial", progress) as tarball:
            progress.update("checking the source")
            return store(tarball, directory, runner)
    except SourceError as error:
        reasons.append(f"kernel.org: {error}")
    raise SourceError(
        f"cannot fetch Linux {SERIES}; check the network, or set {OVERRIDE}=/path/linux-{SERIES}.y.tar.xz"
        f" ({'; '.join(reasons)})"
    )


def fetch(
    *, update: bool = False, verify: bool = True, runner: Runner = SYSTEM, progress: Progress | None = None
) -> Source:
    """The source to use, fetched if it has to be.

    A cached one is used as it is unless ``update`` asks for the newest point release; with
    ``verify`` its checksum is computed first, and a damaged file is fetched again. Raises
    UsageError for a bad VSWAP_LINUX_TARBALL, SourceError when nothing can be had.
    """
    progress = progress or Silent()
    directory = paths.cache_dir() / "source"
    with paths.locked(directory / ".lock"):
        named = os.environ.get(OVERRIDE)
        source = _override(named, directory / "local", runner) if named else cached(directory)
        if source and verify and _damaged(source):
            progress.update(f"{source.path.name} in the cache is damaged; fetching it again")
            Path(f"{source.path}.sha256").unlink()
            source.path.unlink()
            source = _override(named, directory / "local", runner) if named else None
        if source and not (update and not named):
            return source
        return _fetch_new(directory, runner, progress)


def pristine(source: Source, *, runner: Runner = SYSTEM, progress: Progress | None = None) -> Path:
    """The unpacked source in the cache: unpacked when first needed, never written to.

    Raises SourceError when the tarball is damaged.
    """
    directory = source.path.parent / f"linux-{source.version}"
    stamp = directory.with_name(f"{directory.name}.unpacked")
    with paths.locked(source.path.parent / ".lock"):
        if stamp.is_file() and stamp.read_text() == source.sha256 and directory.is_dir():
            return directory
        (progress or Silent()).update(f"unpacking Linux {source.version}")
        if _damaged(source):
            raise SourceError(f"{source.path} is damaged; run: vswap fetch")
        stamp.unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
        with paths.atomic_dir(directory) as temporary:
            runner.run(
                ["tar", "-xf", str(source.path), "-C", str(temporary), "--strip-components=1", "--no-same-owner"]
            )
        paths.write_file(stamp, source.sha256.encode())
    return directory
