# SPDX-License-Identifier: GPL-2.0
"""Get a package of another Debian release without touching the system's apt configuration.

apt runs with lists, cache and source list of its own below the lab's cache. It takes the
mirror from the system's sources and verifies the archive's signature with Debian's keyring.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from vswaplab import paths
from vswaplab.errors import SourceError, ToolError
from vswaplab.proc import Runner

ETC = Path("/etc/apt")
HELPER = Path("/usr/lib/apt/apt-helper")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = ("trixie-backports", "forky", "forky-backports", "sid")
_RELEASES = {
    "buster", "bullseye", "bookworm", "trixie", "forky", "duke", "sid",
    "oldoldstable", "oldstable", "stable", "testing", "unstable",
}  # fmt: skip


def _one_line(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """URI, suites and components of each "deb" line of a .list file."""
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if not words or words[0] != "deb":
            continue
        words = words[1:]
        if words and words[0].startswith("["):
            end = next((i for i, word in enumerate(words) if word.endswith("]")), len(words) - 1)
            words = words[end + 1 :]
        if len(words) >= 3:
            yield words[0], [words[1]], words[2:]


def _stanzas(text: str) -> Iterator[Mapping[str, str]]:
    """The stanzas of a deb822 .sources file, field names in lower case."""
    fields: dict[str, str] = {}
    last = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t" and last in fields:
            fields[last] += " " + line.strip()
        elif ":" in line:
            name, value = line.split(":", 1)
            last = name.strip().lower()
            fields[last] = value.strip()


def _deb822(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """The same as _one_line() for a .sources file."""
    for fields in _stanzas(text):
        if fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        if "deb" not in fields.get("types", "").split():
            continue
        for uri in fields.get("uris", "").split():
            yield uri, fields.get("suites", "").split(), fields.get("components", "").split()


def _entries(etc: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """URI, suites and components of each source of packages, in the order apt reads them."""
    for path in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if path.is_file() and path.suffix in (".list", ".sources"):
            text = path.read_text(errors="replace")
            yield from _one_line(text) if path.suffix == ".list" else _deb822(text)


def release_of(suite: str) -> str:
    """The release that a suite belongs to."""
    return re.sub(r"(-updates|-backports|-security|/updates)$", "", suite)


def mirrors(etc: Path = ETC) -> list[str]:
    """The URIs from which this system gets Debian itself, in the order apt reads them."""
    found = []
    for uri, suites, components in _entries(etc):
        names = {suite.removesuffix("-updates").removesuffix("-backports") for suite in suites}
        if "main" in components and names & _RELEASES and uri not in found:
            found.append(uri)
    return found


def archives(etc: Path = ETC) -> list[tuple[str, str]]:
    """URI and suite of each archive that this system gets its own release of Debian from, its updates
    included and backports not; none on another system."""
    found: dict[tuple[str, str], None] = {}
    release = ""
    for uri, suites, components in _entries(etc):
        for suite in suites:
            if "main" not in components or release_of(suite) not in _RELEASES or suite.endswith("-backports"):
                continue
            release = release or release_of(suite)
            if release_of(suite) == release:
                found[uri, suite] = None
    return list(found)


def reachable(uri: str, suite: str, *, runner: Runner) -> bool:
    """Whether apt, with the system's proxies, gets the head of an archive now."""
    with paths.scratch_dir() as directory:
        url = f"{uri.rstrip('/')}/dists/{suite}/InRelease"
        argv = [str(HELPER), "download-file", url, str(directory / "InRelease")]
        try:
            return runner.run(argv, check=False, timeout=60).returncode == 0
        except ToolError:
            return False


def has_apt() -> bool:
    """Is apt-get installed?"""
    return shutil.which("apt-get") is not None


def _options(directory: Path) -> list[str]:
    """apt's options that keep it away from the system's own state."""
    settings = {
        "Dir::Etc::sourcelist": str(directory / "sources.list"),
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": str(directory / "lists"),
        "Dir::Cache": str(directory),
        "Dir::Cache::archives": str(directory / "archives"),
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "APT::Sandbox::User": "",  # the cache belongs to the user, not to _apt
        "APT::Update::Error-Mode": "any",  # a list that could not be fetched is an error
        "Debug::NoLocking": "true",  # the lab has a lock of its own; dpkg's needs root
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _download(package: str, uri: str, suite: str, directory: Path, runner: Runner) -> Path:
    """The .deb of ``package`` from one suite. Raises ToolError.

    "install --download-only" is the one command of apt's that resumes, from archives/partial/;
    where the package's dependencies cannot be had, "download" still gets the package.
    """
    paths.write_file(directory / "sources.list", f"deb [signed-by={KEYRING}] {uri} {suite} main\n".encode())
    archives = directory / "archives"
    for path in (directory / "lists" / "partial", archives / "partial"):
        path.mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", *_options(directory), "-qq"]
    environment = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    runner.run([*apt, "update"], env=environment)
    try:
        install = [*apt, "-y", "--no-install-recommends", "--download-only", "install", package]
        runner.run(install, env=environment)
    except ToolError:
        runner.run([*apt, "download", package], cwd=archives, env=environment)
    found = sorted(archives.glob(f"{package}_*.deb"))
    if not found:
        raise ToolError(f"apt-get download left no {package}")
    return found[-1]


def _unpack(deb: Path, package: str, runner: Runner) -> Path:
    """The source tarball inside a linux-source .deb, in a directory beside it."""
    target = deb.parent / "unpacked"
    shutil.rmtree(target, ignore_errors=True)
    runner.run(["dpkg-deb", "-x", str(deb), str(target)])
    tarball = target / "usr" / "src" / f"{package}.tar.xz"
    if not tarball.is_file():
        raise SourceError(f"{deb.name} does not hold {package}.tar.xz")
    return tarball


@contextlib.contextmanager
def fetched(package: str, directory: Path, runner: Runner) -> Iterator[Path]:
    """Give the tarball that ``package`` holds; ``directory`` is emptied when it was used.

    Suites are tried in turn. Raises SourceError when none has it or this is no Debian system.
    """
    uris = mirrors(ETC)
    if not uris or not has_apt():
        raise SourceError("this system has no Debian mirror in its apt sources")
    if not KEYRING.is_file():
        raise SourceError("the package debian-archive-keyring is not installed")
    reason: Exception = SourceError("no suite to try")
    for suite in SUITES:
        try:
            deb = _download(package, uris[0], suite, directory, runner)
            tarball = _unpack(deb, package, runner)
        except ToolError as error:
            if suite == SUITES[0]:
                reason = error
            continue
        yield tarball
        shutil.rmtree(directory, ignore_errors=True)
        return
    shutil.rmtree(directory / "lists", ignore_errors=True)
    raise SourceError(f"{package} is in none of {', '.join(SUITES)}: {reason}")
