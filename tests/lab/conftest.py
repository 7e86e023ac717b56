# SPDX-License-Identifier: GPL-2.0
"""A cache, a kernel/ and a configs/ of its own for every test of the lab."""

import os
from pathlib import Path

import pytest

from tests.lab import fakes
from vswaplab import paths
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
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel/ with a file of our own and an edit of a base file; the lab uses it."""
    directory = fakes.write_tree(
        tmp_path / "kernel",
        {
            "mm/vswap/space.c": "int one;\nint two;\nint three;\n",
            "mm/swap.c.patch": (
                "--- a/mm/swap.c\n+++ b/mm/swap.c\n"
                "@@ -8,6 +8,7 @@ line 7\n line 8\n line 9\n line 10\n+hook one\n line 11\n line 12\n line 13\n"
                "@@ -36,5 +37,5 @@ line 35\n line 36\n line 37\n line 38\n-line 39\n+hook two\n line 40\n"
            ),
        },
    )
    monkeypatch.setattr(paths, "kernel_dir", lambda: directory)
    return directory


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel-bench/ that edits a file which kernel/ edits as well; the lab uses it."""
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
