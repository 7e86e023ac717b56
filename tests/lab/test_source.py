# SPDX-License-Identifier: GPL-2.0
"""Fetching: the cache, VSWAP_LINUX_TARBALL, apt and what can be wrong with each."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab import fakes
from vswaplab import hashing
from vswaplab.errors import SourceError, UsageError
from vswaplab.proc import SYSTEM, Result
from vswaplab.source import apt, kernelorg, linux

LIST = """\
deb [arch=amd64] http://cloud.example/apt cloud-sdk-bookworm main
deb http://debian.example/debian-security bookworm-security main # comment
deb [signed-by=/k.gpg arch=amd64] http://debian.example/debian bookworm main contrib
deb-src http://source.example/debian bookworm main
"""
SOURCES = """\
Types: deb
# http://snapshot.example/
URIs: http://mirror.example/debian
 http://second.example/debian
Suites: trixie trixie-updates
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main

Types: deb
URIs: http://node.example
Suites: nodistro
Components: main
"""


def etc(tmp_path: Path, text: str = LIST) -> Path:
    directory = tmp_path / "etc"
    fakes.write_tree(directory, {"sources.list": text, "sources.list.d/debian.sources": SOURCES})
    return directory


def test_mirrors_are_the_ones_that_serve_debian(tmp_path: Path) -> None:
    assert apt.mirrors(etc(tmp_path)) == [
        "http://debian.example/debian",
        "http://mirror.example/debian",
        "http://second.example/debian",
    ]


def test_no_mirrors_where_there_is_no_debian(tmp_path: Path) -> None:
    assert apt.mirrors(tmp_path) == []


def test_archives_are_those_of_one_release(tmp_path: Path) -> None:
    """The system's own is the first; its backports and other releases would mix."""
    assert apt.archives(etc(tmp_path)) == [
        ("http://debian.example/debian-security", "bookworm-security"),
        ("http://debian.example/debian", "bookworm"),
    ]
    backports = "deb http://debian.example/debian trixie-backports main\n"
    assert apt.archives(etc(tmp_path, backports)) == [
        ("http://mirror.example/debian", "trixie"), ("http://mirror.example/debian", "trixie-updates"),
        ("http://second.example/debian", "trixie"), ("http://second.example/debian", "trixie-updates"),
    ]  # fmt: skip
    assert apt.archives(tmp_path / "nowhere") == []


def test_an_archive_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "helper"
    url = "http://debian.example/debian/dists/trixie/InRelease"
    helper.write_text(f'#!/bin/sh\n[ "$1 $2" = "download-file {url}" ]\n')
    helper.chmod(0o755)
    monkeypatch.setattr(apt, "HELPER", helper)
    assert apt.reachable("http://debian.example/debian/", "trixie", runner=SYSTEM)
    assert not apt.reachable("http://debian.example/debian", "bookworm", runner=SYSTEM)
    monkeypatch.setattr(apt, "HELPER", tmp_path / "nowhere")
    assert not apt.reachable("http://debian.example/debian/", "trixie", runner=SYSTEM)


class FakeApt:
    """apt-get and dpkg-deb as far as the lab uses them; ``suite`` is where the package is."""

    def __init__(self, directory: Path, tarball: Path, suite: str) -> None:
        self.directory, self.tarball, self.suite = directory, tarball, suite
        self.resumes = True

    def __call__(self, argv: Sequence[str], cwd: Path | None) -> Result | None:
        if argv[0] == "dpkg-deb":
            target = Path(argv[3]) / "usr/src"
            target.mkdir(parents=True)
            shutil.copyfile(argv[2], target / "linux-source-7.3.tar.xz")
            return Result(argv, 0)
        if argv[0] != "apt-get":
            return SYSTEM.run(argv, cwd=cwd, check=False)
        text = (self.directory / "sources.list").read_text()
        if "update" in argv:
            return Result(argv, 0)
        if f" {self.suite} " not in text:
            return Result(argv, 100, "", "E: Unable to locate package linux-source-7.3")
        if "install" in argv and not self.resumes:
            return Result(argv, 100, "", "E: Unmet dependencies")
        shutil.copyfile(self.tarball, self.directory / "archives" / "linux-source-7.3_7.3.4-1_all.deb")
        return Result(argv, 0)


@pytest.fixture
def fake_apt(tmp_path: Path, base: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    monkeypatch.setattr(apt, "ETC", etc(tmp_path))
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(apt, "KEYRING", keyring)
    monkeypatch.setattr(apt, "has_apt", lambda: True)
    monkeypatch.setattr(kernelorg, "BASE", "http://127.0.0.1:9/")
    monkeypatch.setattr(kernelorg, "TRIES", 1)
    return FakeApt(cache / "apt", fakes.tarball(tmp_path / "linux.tar.xz", base), "trixie-backports")


@pytest.mark.parametrize("suite", ["trixie-backports", "sid"])
def test_fetch_from_debian(fake_apt: FakeApt, cache: Path, suite: str) -> None:
    fake_apt.suite = suite
    runner = fakes.RecordingRunner([fake_apt])
    found = linux.fetch(runner=runner)
    assert found.version == "7.3.4"
    assert sorted(p.name for p in (cache / "source").iterdir() if p.name != ".lock") == [
        "linux-7.3.4.tar.xz",
        "linux-7.3.4.tar.xz.sha256",
    ]
    assert found.sha256 == hashing.of_file(found.path)
    assert not (cache / "apt").exists()
    used = [argv for argv in runner.started if argv[0] == "apt-get"]
    assert all("Dir::Etc::sourceparts=-" in argv for argv in used)
    assert not any("--allow-unauthenticated" in argv for argv in used)
    assert len(used) == 2 if suite == "trixie-backports" else len(used) > 4

    again = fakes.RecordingRunner([])
    assert linux.fetch(runner=again) == found
    assert again.started == []


def test_fetch_without_dependencies(fake_apt: FakeApt) -> None:
    fake_apt.resumes = False
    runner = fakes.RecordingRunner([fake_apt])
    assert linux.fetch(runner=runner).version == "7.3.4"
    assert any("download" in argv for argv in runner.started)


def test_no_network_is_one_line_and_leaves_nothing(fake_apt: FakeApt, cache: Path) -> None:
    fake_apt.suite = "nowhere"
    with pytest.raises(SourceError) as caught:
        linux.fetch(runner=fakes.RecordingRunner([fake_apt]))
    assert "VSWAP_LINUX_TARBALL" in str(caught.value)
    assert "Unable to locate" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [p.name for p in (cache / "source").iterdir() if p.is_file()] == [".lock"]


def test_update_looks_for_a_newer_point_release(fake_apt: FakeApt, tmp_path: Path) -> None:
    runner = fakes.RecordingRunner([fake_apt])
    assert linux.fetch(runner=runner).version == "7.3.4"
    newer = fakes.kernel_base(tmp_path / "newer", point=11)
    fake_apt.tarball = fakes.tarball(tmp_path / "newer.tar.xz", newer)
    assert linux.fetch(runner=runner).version == "7.3.4"
    assert linux.fetch(update=True, runner=runner).version == "7.3.11"
    assert linux.fetch(runner=runner).version == "7.3.11"


def test_damaged_cache_is_fetched_again(fake_apt: FakeApt) -> None:
    runner = fakes.RecordingRunner([fake_apt])
    first = linux.fetch(runner=runner)
    with first.path.open("r+b") as stream:
        stream.write(b"damage")
    assert linux.fetch(runner=runner) == first
    assert hashing.of_file(first.path) == first.sha256


def test_file_without_checksum_does_not_count(cache: Path) -> None:
    fakes.write_tree(cache / "source", {"linux-7.3.9.tar.xz": "half a download"})
    assert linux.cached(cache / "source") is None


@pytest.mark.parametrize("suffix", [".tar.xz", ".tar"])
def test_override(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    packed = fakes.tarball(tmp_path / "my.tar.xz", base)
    if suffix == ".tar":
        SYSTEM.run(["xz", "-d", str(packed)])
    named = tmp_path / f"my{suffix}"
    monkeypatch.setenv(linux.OVERRIDE, str(named))
    runner = fakes.RecordingRunner([lambda argv, cwd: SYSTEM.run(argv, cwd=cwd, check=False)])
    found = linux.fetch(runner=runner)
    assert (found.version, found.path.parent.name) == ("7.3.4", "local")
    count = len(runner.started)
    assert linux.fetch(runner=runner) == found
    assert len(runner.started) == count, "an unchanged tarball is copied once"

    fakes.kernel_base(base, point=8)
    fakes.tarball(tmp_path / "my.tar.xz", base)
    if suffix == ".tar":
        named.unlink()
        SYSTEM.run(["xz", "-d", str(packed)])
    assert linux.fetch(runner=runner).version == "7.3.8"


def test_override_of_another_version(
    tmp_path: Path, base: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makefile = base / "Makefile"
    makefile.write_text(makefile.read_text().replace("PATCHLEVEL = 3", "PATCHLEVEL = 2"))
    monkeypatch.setenv(linux.OVERRIDE, str(fakes.tarball(tmp_path / "my.tar.xz", base)))
    with pytest.raises(UsageError, match=r"is Linux 7\.2\.4; the project needs 7\.3\.y"):
        linux.fetch()
    assert not (cache / "source/local").exists()


def test_override_truncated(tmp_path: Path, base: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "mm/big.c").write_bytes(os.urandom(200_000))
    packed = fakes.tarball(tmp_path / "my.tar.xz", base)
    with packed.open("r+b") as stream:
        stream.truncate(150_000)
    monkeypatch.setenv(linux.OVERRIDE, str(packed))
    with pytest.raises(UsageError, match="not a complete kernel tarball"):
        linux.fetch()
    assert not (cache / "source/local").exists()


@pytest.mark.parametrize(
    ("name", "message"), [("missing.tar.xz", "no such file"), ("kernel.zip", "not a tarball|not a complete")]
)
def test_override_unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    (tmp_path / "kernel.zip").write_text("not a tarball")
    monkeypatch.setenv(linux.OVERRIDE, str(tmp_path / name))
    with pytest.raises(UsageError, match=message):
        linux.fetch()


def test_a_tarball_that_is_no_kernel(tmp_path: Path) -> None:
    other = fakes.write_tree(tmp_path / "other", {"Makefile": "all:\n"})
    with pytest.raises(SourceError, match="names no version"):
        linux.tarball_version(fakes.tarball(tmp_path / "o.tar.xz", other))


def test_pristine_is_unpacked_once(stored: linux.Source) -> None:
    directory = linux.pristine(stored)
    assert (directory / "mm/swap.c").read_text() == fakes.SWAP_C
    (directory / "mark").touch()
    assert linux.pristine(stored) == directory
    assert (directory / "mark").exists()


def test_pristine_of_a_damaged_tarball(stored: linux.Source) -> None:
    with stored.path.open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(SourceError, match="damaged; run: vswap fetch"):
        linux.pristine(stored)
    assert not (stored.path.parent / "linux-7.3.4").exists()
