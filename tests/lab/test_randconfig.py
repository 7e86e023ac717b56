# SPDX-License-Identifier: GPL-2.0
"""Configurations that nobody chose, or that lack something.

The files of ours and those that are edited compile without a warning.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.build import config, kbuild
from vswaplab.series import stored
from vswaplab.tree import buildtree

SEEDS = range(1, 21)
CROSS = "riscv64-linux-gnu-"  # the compiler for a 64-bit architecture that can do without an MMU
# What a random configuration may not choose: swap without what it needs, tools of the host's that may not be
# there, and hours.
FIXED = """
CONFIG_64BIT=y
CONFIG_MMU=y
CONFIG_BLOCK=y
CONFIG_SWAP=y
CONFIG_ZSWAP=y
CONFIG_GCC_PLUGINS=n
CONFIG_RUST=n
CONFIG_DEBUG_INFO_NONE=y
CONFIG_MODULE_SIG=n
CONFIG_SYSTEM_TRUSTED_KEYS=""
CONFIG_WERROR=n
"""
_WARNING = re.compile(r"^(\S+?):\d+:(?:\d+:)? (?:warning|error): .*", re.MULTILINE)


def warnings(said: str, tree: Path, ours: Collection[str]) -> list[str]:
    """What the compiler has to say of our files. It calls them by absolute paths, or relative to its own."""
    return [
        match[0]
        for match in _WARNING.finditer(said)
        if any(match[1] == str(tree / name) or match[1].endswith(f"../{name}") for name in ours)
    ]


def make(tree: Path, out: Path, arch: str, *words: str, **settings: str) -> str:
    """make(1) in a tree, for an output directory; what it said."""
    compiler, variables = kbuild.ccache(tree)
    argv = ["make", "-s", f"ARCH={arch}", f"O={out}", f"-j{os.cpu_count()}", *compiler, *words]
    environment = {**os.environ, **paths.MAKE_ENV, **variables, **settings}
    result = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, timeout=1800)
    said = result.stdout + result.stderr
    assert result.returncode == 0, said[-4000:]
    return said


@pytest.fixture(autouse=True)
def cache() -> Path:
    """The user's, not an empty one for each test: sources are unpacked once, and ccache keeps what it compiled."""
    return paths.cache_dir()


@pytest.fixture
def tree() -> Iterator[Path]:
    """The sources, which no other checkout replaces while they are compiled."""
    with buildtree.prepared(lambda: buildtree.source_tree("vswap")) as prepared:
        yield prepared.path


@pytest.fixture(scope="module")
def ours() -> set[str]:
    """The files that the series adds or edits."""
    return {*stored.edited_names(stored.ours()), *stored.new_files(stored.ours())}


def test_a_warning_is_seen(tmp_path: Path, ours: set[str]) -> None:
    """In the words of a compiler that is given an unused variable, called as make calls it."""
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/zswap.c").write_text("int f(void) { int unused; return 0; }\n")
    for name in (str(tmp_path / "mm/zswap.c"), "../mm/zswap.c"):
        argv = ["gcc", "-Wall", "-c", name, "-o", "/dev/null"]
        (tmp_path / "out").mkdir(exist_ok=True)
        said = subprocess.run(argv, cwd=tmp_path / "out", capture_output=True, text=True, check=True).stderr
        assert len(warnings(said, tmp_path, ours)) == 1, said
        assert warnings(said, tmp_path, {"mm/shmem.c"}) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_configuration(tmp_path: Path, tree: Path, ours: set[str], seed: int) -> None:
    """Every other one has virtual swap; all of mm/ is compiled."""
    wanted = "y" if seed % 2 else "n"
    chosen = tmp_path / "chosen.config"
    chosen.write_text(f"{FIXED}CONFIG_VSWAP={wanted}\n")
    make(tree, tmp_path, "x86_64", "randconfig", KCONFIG_SEED=str(seed), KCONFIG_ALLCONFIG=str(chosen))
    options = config.parse((tmp_path / ".config").read_text())
    assert options["CONFIG_VSWAP"] == wanted
    said = make(tree, tmp_path, "x86_64", "mm/", "fs/proc/")
    assert warnings(said, tree, ours) == []


@pytest.mark.parametrize(
    ("arch", "flavour"),
    [
        pytest.param(arch, flavour, marks=[] if flavour == "coverage" else pytest.mark.long)
        for arch in config.ARCHES
        for flavour in config.FLAVOURS
        if config.exists(arch, flavour) and flavour != "bench"  # that has a tree of its own
    ],
)
def test_a_flavour_gets_what_it_asks_for(tmp_path: Path, tree: Path, arch: str, flavour: str) -> None:
    """An option that the kernel refuses ends a build: a flavour that few ask for would be found broken late."""
    wanted = config.requested(config.fragments("vswap", arch, flavour, paths.configs_dir()))
    text = config.generate(tree, tmp_path, arch, wanted)
    assert config.missing(wanted, text) == []


@pytest.mark.parametrize(
    ("arch", "without", "offered"),
    [
        pytest.param("x86_64", "TRANSPARENT_HUGEPAGE", True, marks=pytest.mark.long),
        pytest.param("x86_64", "MEMCG", True, marks=pytest.mark.long),
        pytest.param("x86_64", "ZSWAP", False, marks=pytest.mark.long),
        pytest.param("x86_64", "SWAP", False, marks=pytest.mark.long),
        ("i386", "64BIT", False),
    ],
)
def test_what_virtual_swap_needs(
    tmp_path: Path, tree: Path, ours: set[str], arch: str, without: str, offered: bool
) -> None:
    """zswap, which needs swap, and backing words of 64 bits: without them Kconfig leaves it out.

    Either way what is left compiles.
    """
    parts = config.fragments("vswap", "x86_64", "release", paths.configs_dir())
    wanted = {**config.requested(parts), f"CONFIG_{without}": "n"}
    text = config.generate(tree, tmp_path, arch, wanted)
    (tmp_path / ".config").write_text(text)
    options = config.parse(text)
    assert options.get(f"CONFIG_{without}", "n") == "n"
    assert (options.get("CONFIG_ZSWAP") == "y") is (without not in ("ZSWAP", "SWAP"))
    assert (options.get("CONFIG_VSWAP") == "y") is offered
    assert ("CONFIG_VSWAP=y" in config.missing(wanted, text)) is not offered  # "vswap build" says so
    assert warnings(make(tree, tmp_path, arch, "mm/", "fs/proc/"), tree, ours) == []


@pytest.mark.long
@pytest.mark.skipif(not shutil.which(f"{CROSS}gcc"), reason="needs Debian's gcc-riscv64-linux-gnu")
def test_without_an_mmu(tmp_path: Path, tree: Path, ours: set[str]) -> None:
    """There are no swap entries, but files of mm/ that include our header are compiled."""
    cross = (f"CROSS_COMPILE={CROSS}", f"CC={CROSS}gcc")
    make(tree, tmp_path, "riscv", *cross, "nommu_virt_defconfig")
    assert config.parse((tmp_path / ".config").read_text()).get("CONFIG_MMU", "n") == "n"
    assert warnings(make(tree, tmp_path, "riscv", *cross, "mm/", "fs/proc/"), tree, ours) == []
