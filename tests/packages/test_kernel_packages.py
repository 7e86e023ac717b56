# SPDX-License-Identifier: GPL-2.0
"""make deb: the script that builds kernel packages, as far as no kernel is built."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.build import config

TOP = paths.repo_root()
SMALL = TOP / "packaging" / "kernel" / "small.config"


def dry_run(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """make deb up to the configuration."""
    argv = ["make", "-s", "-C", str(TOP), "deb", f"OUT={out}", *words]
    env = {**os.environ, "VSWAP_DRY_RUN": "1"}
    return subprocess.run(argv, capture_output=True, text=True, env=env, check=False)


def test_it_is_a_shell_script() -> None:
    subprocess.run(["sh", "-n", TOP / "packaging/kernel/build"], check=True)


def test_small_adds_to_the_labs_configuration() -> None:
    """A fragment as the others are, and nothing of virtual swap is taken away by it."""
    own = config.parse(SMALL.read_text())
    ours = config.requested([paths.configs_dir() / f"{name}.config" for name in ("common", "x86_64", "vswap")])
    assert own and set(own.values()) == {"y", "64"}
    other = {name.removeprefix("CONFIG_") for name in own if ours.get(name) not in (None, own[name])}
    assert other == {"ACPI_BUTTON", "CPU_MITIGATIONS", "INPUT", "IPV6", "NR_CPUS"}
    assert ours["CONFIG_VSWAP"] == "y"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("dpkg-checkbuilddeps") is None, reason="needs dpkg-dev")
def test_small_up_to_the_configuration(tmp_path: Path) -> None:
    done = dry_run(tmp_path, "CONFIG=small")
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("linux-image-") and line.endswith(".deb") for line in done.stdout.splitlines())
    have = config.parse((tmp_path / "build-small" / ".config").read_text())
    wanted = ("VSWAP", "ZSWAP_DEFAULT_ON", "EXT4_FS", "VIRTIO_NET", "BLK_DEV_INITRD", "RD_GZIP", "RD_ZSTD")
    assert [name for name in wanted if have.get(f"CONFIG_{name}") != "y"] == []


@pytest.mark.long
@pytest.mark.skipif(shutil.which("dpkg-checkbuilddeps") is None, reason="needs dpkg-dev")
def test_no_such_configuration(tmp_path: Path) -> None:
    done = dry_run(tmp_path, "CONFIG=/nowhere")
    assert done.returncode != 0 and "no file /nowhere; CONFIG is running, small or a .config" in done.stderr
