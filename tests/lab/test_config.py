# SPDX-License-Identifier: GPL-2.0
"""Configurations: which fragments count, and that nothing asked for is lost silently."""

from pathlib import Path

import pytest

from tests.lab import fakes
from vswaplab import paths
from vswaplab.build import config
from vswaplab.errors import ConfigError

REAL_CONFIGS = paths.configs_dir()


def names(kernel: str, arch: str, flavour: str, directory: Path) -> list[str]:
    return [path.stem for path in config.fragments(kernel, arch, flavour, directory)]


def test_fragments(configs: Path) -> None:
    assert names("mainline", "um", "release", configs) == ["common", "um", "release"]
    assert names("vswap", "x86_64", "debug", configs) == [
        "common", "x86_64", "debug", "debug-x86_64", "vswap", "debug-vswap",
    ]  # fmt: skip
    assert names("mainline", "um", "bench", configs) == ["common", "um", "release", "bench"]
    assert names("vswap-off", "um", "debug", configs) == ["common", "um", "debug", "vswap-off"]


def test_parse_and_missing() -> None:
    text = '# comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="text"\nCONFIG_D=n\nCONFIG_E=5\n'
    wanted = config.parse(text)
    assert wanted == {"CONFIG_A": "y", "CONFIG_B": "n", "CONFIG_C": '"text"', "CONFIG_D": "n", "CONFIG_E": "5"}
    assert config.parse(config.render(wanted)) == wanted
    assert config.missing(wanted, 'CONFIG_A=y\nCONFIG_C="text"\nCONFIG_E=5\n') == []
    assert config.missing(wanted, "CONFIG_A=m\nCONFIG_B=y\nCONFIG_E=5\n") == [
        "CONFIG_A=y",
        "CONFIG_B=n",
        'CONFIG_C="text"',
    ]


def test_configure_writes_only_changes(base: Path, configs: Path) -> None:
    out = base / "out"
    out.mkdir()
    parts = config.fragments("vswap", "um", "release", configs)
    path = config.configure(base, out, "um", parts)
    options = config.parse(path.read_text())
    assert options["CONFIG_TINY"] == "y", "tinyconfig comes first"
    assert options["CONFIG_SWAP"] == "y", "and the fragments override it"
    assert options["CONFIG_A"] == "n", "and a later fragment an earlier one"
    before = path.stat().st_mtime_ns
    config.configure(base, out, "um", parts)
    assert path.stat().st_mtime_ns == before
    assert sorted(p.name for p in out.iterdir()) == [".config"]


def test_options_that_do_not_survive_are_named(base: Path, configs: Path) -> None:
    out = base / "out"
    out.mkdir()
    fakes.write_tree(configs, {"um.config": "CONFIG_IMPOSSIBLE=y\nCONFIG_IMPOSSIBLE_TOO=m\n"})
    parts = config.fragments("vswap", "um", "release", configs)
    with pytest.raises(ConfigError, match="refuses: CONFIG_IMPOSSIBLE=y, CONFIG_IMPOSSIBLE_TOO=m"):
        config.configure(base, out, "um", parts)
    assert list(out.iterdir()) == []
    config.configure(base, out, "um", parts, strict=False)


@pytest.mark.parametrize("arch", config.ARCHES)
def test_the_debug_flavour_has_its_checkers(arch: str) -> None:
    wanted = config.requested(config.fragments("vswap", arch, "debug", REAL_CONFIGS))
    for name in (
        "KASAN", "PROVE_LOCKING", "DEBUG_VM", "DEBUG_ATOMIC_SLEEP", "DEBUG_LIST", "SLUB_DEBUG", "DEBUG_KMEMLEAK",
        "DETECT_HUNG_TASK", "WQ_WATCHDOG", "FAULT_INJECTION", "FAILSLAB", "FAIL_PAGE_ALLOC", "KUNIT", "VSWAP",
        "VSWAP_DEBUG", "VSWAP_KUNIT_TEST",
    ):  # fmt: skip
        assert wanted[f"CONFIG_{name}"] == "y", name
    assert wanted["CONFIG_KUNIT_AUTORUN_ENABLED"] == "n"
