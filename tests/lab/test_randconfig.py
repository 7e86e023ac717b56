# SPDX-License-Identifier: GPL-2.0
"""Configurations that nobody chose: the files of ours and those that are edited compile without a warning."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.build import config
from vswaplab.series import stored
from vswaplab.tree import buildtree

pytestmark = pytest.mark.long

SEEDS = range(1, 21)
# What a random configuration may not choose: tools of the host's that may not be there, and hours.
FIXED = """
CONFIG_64BIT=y
CONFIG_MMU=y
CONFIG_SWAP=y
CONFIG_ZSWAP=y
CONFIG_GCC_PLUGINS=n
CONFIG_RUST=n
CONFIG_DEBUG_INFO_NONE=y
CONFIG_MODULE_SIG=n
CONFIG_SYSTEM_TRUSTED_KEYS=""
CONFIG_WERROR=n
"""
_WARNING = re.compile(r"^(?:\.\./)*(\S+?):\d+:(?:\d+:)? (?:warning|error): .*", re.MULTILINE)


def make(tree: Path, out: Path, arch: str, *words: str, **settings: str) -> str:
    """make(1) in a tree, for an output directory; what it said."""
    argv = ["make", "-s", f"ARCH={arch}", f"O={out}", f"-j{os.cpu_count()}", "CC=ccache gcc", *words]
    environment = {**os.environ, **paths.MAKE_ENV, "CCACHE_BASEDIR": str(tree), **settings}
    environment["CCACHE_DIR"] = str(paths.cache_dir() / "ccache")
    result = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, timeout=1800)
    said = result.stdout + result.stderr
    assert result.returncode == 0, said[-4000:]
    return said


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_configuration(tmp_path: Path, seed: int) -> None:
    """Every other one has virtual swap; all of mm/ is compiled."""
    tree = buildtree.source_tree("vswap").path
    wanted = "y" if seed % 2 else "n"
    chosen = tmp_path / "chosen.config"
    chosen.write_text(f"{FIXED}CONFIG_VSWAP={wanted}\n")
    make(tree, tmp_path, "x86_64", "randconfig", KCONFIG_SEED=str(seed), KCONFIG_ALLCONFIG=str(chosen))
    options = config.parse((tmp_path / ".config").read_text())
    assert options["CONFIG_VSWAP"] == wanted
    said = make(tree, tmp_path, "x86_64", "mm/", "fs/proc/")
    ours = {name for name in stored.edited_names(stored.ours())}
    warnings = [m[0] for m in _WARNING.finditer(said) if m[1] in ours or m[1].startswith("mm/vswap/")]
    assert warnings == []


@pytest.mark.parametrize(("arch", "offered"), [("x86_64", True), ("i386", False)])
def test_64_bits_only(tmp_path: Path, arch: str, offered: bool) -> None:
    """A backing word needs 64 bits: a 32-bit kernel does not offer virtual swap."""
    make(buildtree.source_tree("vswap").path, tmp_path, arch, "allyesconfig")
    options = config.parse((tmp_path / ".config").read_text())
    assert options["CONFIG_ZSWAP"] == "y"
    assert (options.get("CONFIG_VSWAP") == "y") is offered
