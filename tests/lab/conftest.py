# SPDX-License-Identifier: GPL-2.0
"""A cache, a patches/, a kernel/ and a configs/ of its own for every test of the lab."""

import os
from pathlib import Path

import pytest

from tests.lab import fakes
from vswaplab import paths
from vswaplab.series.stored import Store
from vswaplab.source import linux

REAL_CACHE = paths.cache_dir()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; nothing a test does reaches the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(linux.OVERRIDE, raising=False)
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    return paths.cache_dir()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A small pristine tree."""
    return fakes.kernel_base(tmp_path / "base")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A patches/ and a kernel/ with the small series; the lab uses them."""
    found = fakes.series(tmp_path / "ours")
    monkeypatch.setattr(paths, "kernel_dir", lambda: found.kernel)
    monkeypatch.setattr(paths, "patches_dir", lambda: found.patches)
    return found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel-bench/ that edits a file which the series edits as well; the lab uses it."""
    patch = (
        "--- a/mm/swap.c\n+++ b/mm/swap.c\n"
        "@@ -21,6 +21,7 @@\n line 21\n line 22\n line 23\n+bench hook\n line 24\n line 25\n line 26\n"
    )
    directory = fakes.write_tree(
        tmp_path / "kernel-bench", {"mm/swap_bench.c": "bench\n", "mm/swap.c.patch": patch}
    )
    monkeypatch.setattr(paths, "bench_kernel_dir", lambda: directory)
    return directory


@pytest.fixture
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configs/ with a few options; the lab uses it."""
    directory = fakes.write_tree(
        tmp_path / "configs",
        {
            "common.config": "CONFIG_SWAP=y\nCONFIG_A=y\n",
            "um.config": "CONFIG_UM=y\n",
            "x86_64.config": "CONFIG_PCI=y\n",
            "release.config": "CONFIG_A=n\n",
            "debug.config": "CONFIG_KASAN=y\n",
            "bench.config": "CONFIG_SWAP_BENCH=y\n",
            "debug-x86_64.config": "CONFIG_PAGE_TABLE_CHECK=y\n",
            "vswap.config": "CONFIG_VSWAP=y\n",
            "vswap-off.config": "# CONFIG_VSWAP is not set\n",
            "debug-vswap.config": "CONFIG_VSWAP_DEBUG=y\n",
        },
    )
    monkeypatch.setattr(paths, "configs_dir", lambda: directory)
    return directory


@pytest.fixture
def stored(base: Path, tmp_path: Path, cache: Path) -> linux.Source:
    """The small tree as the source in the cache."""
    return linux.store(fakes.tarball(tmp_path / "linux.tar.xz", base), cache / "source")
