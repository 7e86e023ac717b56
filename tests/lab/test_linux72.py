# SPDX-License-Identifier: GPL-2.0
"""The series on Linux 7.2.y, as docs/distributions.md tells: it applies in both forms, builds and boots.

The sources are those of Debian's package linux-source-7.2, or of the tarball that VSWAP_LINUX_7_2_TARBALL names.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.lab.conftest import REAL_CACHE
from vswaplab import cli, paths
from vswaplab.build import kbuild
from vswaplab.errors import SourceError
from vswaplab.proc import SYSTEM
from vswaplab.series import mails, stored
from vswaplab.source import apt, linux
from vswaplab.tree.buildtree import Tree
from vswaplab.tree.gitrepo import Repo

FIRST = paths.repo_root() / "packaging/linux-7.2/00-swap-ops.patch"
PAGE = paths.repo_root() / "docs/distributions.md"
LEFT_OUT = "06-frees"  # for 7.3's zsmalloc
OVERRIDE = "VSWAP_LINUX_7_2_TARBALL"
REAL_SOURCE = linux.cached(REAL_CACHE / "source")
needs_source = pytest.mark.skipif(REAL_SOURCE is None, reason="no kernel source in the cache")


def diffs(text: str) -> dict[str, str]:
    """The part of a patch for each file."""
    parts = re.split(r"^diff --git a/(\S+) .*\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@needs_source
def test_what_goes_before_the_series_is_mainlines() -> None:
    """Each line that it adds is in the same file of the base."""
    assert REAL_SOURCE
    base = linux.pristine(REAL_SOURCE)
    own = []
    for name, diff in diffs(FIRST.read_text()).items():
        there = {line.strip() for line in (base / name).read_text().splitlines()}
        added = (line[1:].strip() for line in diff.splitlines() if re.match(r"\+(?!\+\+ )", line))
        own += [f"{name}: {line}" for line in added if line not in there]
    assert own == []


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The series as "vswap series" writes it."""
    if REAL_SOURCE is None:
        pytest.skip("no kernel source in the cache")
    target = tmp_path_factory.mktemp("series") / "out"
    mails.write(target, stored.ours())
    return target


def unpack(tarball: Path, target: Path) -> Path:
    version = linux.tarball_version(tarball)
    if not version.startswith("7.2."):
        pytest.fail(f"{tarball.name} is Linux {version}")
    target.mkdir()
    SYSTEM.run(["tar", "-xf", str(tarball), "-C", str(target), "--strip-components=1", "--no-same-owner"])
    return target


@pytest.fixture(scope="module")
def pristine() -> Iterator[Path]:
    """The sources of 7.2.y, unpacked."""
    with paths.scratch_dir(REAL_CACHE) as directory, paths.locked(REAL_CACHE / "source" / ".lock-7.2"):
        if named := os.environ.get(OVERRIDE):
            unpack(Path(named), directory / "linux")
        else:
            try:
                with apt.fetched("linux-source-7.2", REAL_CACHE / "source" / "apt-7.2", SYSTEM) as tarball:
                    unpack(tarball, directory / "linux")
            except SourceError as error:
                pytest.skip(f"Linux 7.2 cannot be had: {error}")
        yield directory / "linux"


def squashed(series: Path) -> list[Path]:
    """A file for each topic."""
    return [path for path in sorted((series / "squashed").glob("[0-9]*")) if path.stem != LEFT_OUT]


def separate(series: Path) -> list[Path]:
    """A file for each patch."""
    found = sorted((series / "topics").glob("*/[0-9]*.patch"))
    return [path for path in found if path.parent.name != LEFT_OUT and not path.name.startswith("0000-")]


def patch(directory: Path, files: Sequence[Path]) -> None:
    """GNU patch, with the fuzz that it allows by itself."""
    for file in files:
        argv = ["patch", "-p1", "--no-backup-if-mismatch", "-i", str(file)]
        done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{file.name}: {done.stdout}{done.stderr}"


def edited(pristine: Path, files: Sequence[Path], target: Path) -> Path:
    """Those files of the sources that the patches name."""
    for name in {name for file in files for name in diffs(file.read_text())}:
        if (pristine / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pristine / name, target / name)
    return target


def contents(directory: Path) -> dict[str, bytes]:
    """What is in all its files but git's."""
    found = (path for path in directory.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


@pytest.mark.long
def test_both_forms_apply(pristine: Path, series: Path, tmp_path: Path) -> None:
    """To the same, with patch, and with git am if it may look at one line around a place instead of three."""
    one, many = squashed(series), separate(series)
    assert len(one) == 5 and len(many) > 30
    wanted = edited(pristine, [FIRST, *one], tmp_path / "wanted")
    patch(wanted, [FIRST, *one])
    by_hand = edited(pristine, [FIRST, *one], tmp_path / "hand/linux")
    (by_hand / "scripts").mkdir()
    shutil.copy(pristine / "scripts/config", by_hand / "scripts")
    (by_hand / ".config").write_text("CONFIG_ZSWAP=y\n")
    for file in (FIRST, *(series / "squashed").glob("0*.patch")):
        shutil.copy(file, by_hand.parent)
    fragment = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)[-1]
    subprocess.run(["bash", "-e", "-c", fragment], cwd=by_hand, check=True)
    assert (by_hand / ".config").read_text() == "CONFIG_ZSWAP=y\nCONFIG_VSWAP=y\n"
    assert contents(wanted).items() <= contents(by_hand).items()
    other = edited(pristine, [FIRST, *one], tmp_path / "other")
    patch(other, [FIRST, *many])
    assert contents(other) == contents(wanted)
    for name, files in (("one", one), ("many", many)):
        repo = Repo(edited(pristine, [FIRST, *one], tmp_path / name))
        repo.init()
        repo.git("apply", str(FIRST))
        repo.git("add", "-A", "-f")
        repo.commit("7.2 and what goes before\n")
        repo.git("am", "-q", "-C1", *map(str, files))
        assert contents(tmp_path / name) == contents(wanted)


@pytest.mark.long
def test_it_builds_and_boots(pristine: Path, series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For User-Mode Linux, where it verifies more than the memory there is, and for x86-64."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(REAL_CACHE.parent))
    top = shutil.copytree(pristine, pristine.parent / "patched", symlinks=True, copy_function=os.link)
    patch(top, [FIRST, *squashed(series)])
    tree = Tree(top, "7.2")
    built = kbuild.build_in(tree, "vswap", "um", "release")
    assert built.release.startswith("7.2.")
    run = ["run", "--kernel", f"linux72={built.image}", "--", "swapcheck", "--size", "400M"]
    assert cli.main(run) == 0
    assert kbuild.build_in(tree, "vswap", "x86_64", "release").release.startswith("7.2.")
