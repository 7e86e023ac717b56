# SPDX-License-Identifier: GPL-2.0
"""What docs/distributions.md tells packagers to do works on the base's sources."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lab import fakes
from vswaplab import paths
from vswaplab.series import mails, stored
from vswaplab.source import linux
from vswaplab.tree import overlay

PAGE = paths.repo_root() / "docs/distributions.md"
FILES = ("scripts/config", "fs/proc/meminfo.c")


@pytest.fixture(scope="module")
def squashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of squashed topics."""
    if linux.cached(paths.cache_dir() / "source") is None:
        pytest.skip("no kernel source in the cache")
    target = tmp_path_factory.mktemp("series") / "out"
    mails.write(target, stored.ours())
    return target / "squashed"


@pytest.fixture
def source(squashed: Path, tmp_path: Path) -> Path:
    """The files of the base that are edited, in a directory of its own inside tmp_path."""
    found = linux.cached(paths.cache_dir() / "source")
    assert found
    target = fakes.edited_only(linux.pristine(found), tmp_path / "linux", FILES)
    (target / ".config").write_text("CONFIG_ZSWAP=y\n# CONFIG_VSWAP is not set\n")
    return target


def test_table_names_the_files(squashed: Path) -> None:
    named = re.findall(r"^\| `(\S+\.patch)` \|", PAGE.read_text(), re.MULTILINE)
    assert [*named, "all.patch"] == sorted(path.name for path in squashed.iterdir())


def is_patched(source: Path) -> bool:
    """Are edits and new files of all topics there, but those of User-Mode Linux?"""
    store = stored.ours()
    base = linux.cached(paths.cache_dir() / "source")
    assert base
    wanted = stored.render(store, linux.pristine(base))
    names = [name for name in wanted if not name.startswith("arch/um/")]
    return all(overlay.read_content(source / name) == wanted[name] for name in names)


def test_fragment_for_arch(squashed: Path, source: Path) -> None:
    match = re.search(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert match
    for path in squashed.glob("0*.patch"):
        if path.name != "02-um.patch":
            shutil.copy(path, source.parent)
    done = subprocess.run(["bash", "-e", "-c", match[1]], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CONFIG_VSWAP=y\n" in (source / ".config").read_text()
    assert is_patched(source)


def test_one_file_for_fedora(squashed: Path, source: Path) -> None:
    """As the spec applies it: patch -p1 -F1 -s."""
    match = re.search(r"`(cat [^`]*) > linux-kernel-test.patch`", PAGE.read_text())
    assert match
    text = subprocess.run(["bash", "-c", match[1]], cwd=squashed, capture_output=True, check=True).stdout
    done = subprocess.run(["patch", "-p1", "-F1", "-s"], cwd=source, input=text, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    assert is_patched(source)


def test_prep_is_needed(squashed: Path, source: Path) -> None:
    """The page says so: the topic that it is needed for does not apply without it."""
    done = subprocess.run(
        ["patch", "-p1", "-s", "--dry-run", "-i", str(squashed / "04-vswap.patch")],
        cwd=source, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
