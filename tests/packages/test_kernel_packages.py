# SPDX-License-Identifier: GPL-2.0
"""make deb: the script that builds kernel packages, as far as no kernel is built."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.build import config

TOP = paths.repo_root()
SMALL = TOP / "packaging" / "kernel" / "small.config"


def dry_run(out: Path, *words: str, machine: Path | None = None) -> subprocess.CompletedProcess[str]:
    """make deb up to the configuration; ``machine`` has the files of the kernel that is said to run."""
    argv = ["make", "-s", "-C", str(TOP), "deb", f"OUT={out}", *words]
    env = {**os.environ, "VSWAP_DRY_RUN": "1", **({"VSWAP_MACHINE": str(machine)} if machine else {})}
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


@pytest.mark.parametrize("name", ["nowhere", "", "text", "packed.gz"])
def test_no_such_configuration(tmp_path: Path, name: str) -> None:
    """No file, a directory, and files that are no .config: refused before anything takes time."""
    (tmp_path / "text").write_text("# CONFIG_VSWAP is what somebody wrote about\n")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"CONFIG_SWAP=y\n"))
    given = tmp_path / name
    reason = "is no .config" if given.is_file() else "CONFIG is running, small or a .config"
    done = dry_run(tmp_path / "out", f"CONFIG={given}")
    assert done.returncode != 0 and done.stdout == ""
    assert str(given) in done.stderr and reason in done.stderr and not list((tmp_path / "out").iterdir())


def running_kernel(root: Path, where: str, modules: str = "loop 32768 0 - Live 0x0\n") -> Path:
    """The files of a kernel that says its configuration in /boot, in /proc, in both, or nowhere."""
    for name in ("boot", "proc"):
        (root / name).mkdir(parents=True)
    text = 'CONFIG_64BIT=y\nCONFIG_SWAP=y\nCONFIG_MODULES=y\nCONFIG_BLK_DEV=y\nCONFIG_DEFAULT_HOSTNAME="from-{}"\n'
    text += "CONFIG_NET=y\nCONFIG_BLK_DEV_LOOP=m\nCONFIG_BLK_DEV_NBD=m\n"
    if where in ("boot", "both"):
        (root / f"boot/config-{os.uname().release}").write_text(text.format("boot"))
    (root / "boot/config-0.0-other").write_text(text.format("other"))
    if where in ("proc", "both"):
        (root / "proc/config.gz").write_bytes(gzip.compress(text.format("proc").encode()))
    (root / "proc/modules").write_text(modules)
    return root


@pytest.mark.parametrize(
    ("where", "modules", "reason"),
    [
        ("nowhere", "loop 1 0\n",
         "no configuration of the running kernel in /boot or /proc/config.gz; give one: "),
        ("both", "", "no modules are loaded, or /proc/modules cannot be read: "),
    ],
)  # fmt: skip
def test_running_kernel_that_says_nothing(tmp_path: Path, where: str, modules: str, reason: str) -> None:
    """Another kernel's configuration in /boot is not taken for its own."""
    done = dry_run(tmp_path / "out", machine=running_kernel(tmp_path / "machine", where, modules))
    assert done.returncode != 0 and f"vswap: {reason}make deb CONFIG=FILE\n" in done.stderr, done.stderr
    assert done.stdout == "" and not list((tmp_path / "out").iterdir())


@pytest.mark.long
@pytest.mark.skipif(shutil.which("dpkg-checkbuilddeps") is None, reason="needs dpkg-dev")
@pytest.mark.parametrize(
    ("where", "taken"), [("boot", "boot"), ("proc", "proc"), ("both", "boot"), ("file", "other")]
)
def test_configuration_that_is_taken(tmp_path: Path, where: str, taken: str) -> None:
    """The running kernel's, without modules that are not loaded, or a FILE as it is; and virtual swap."""
    machine = running_kernel(tmp_path / "machine", where)
    words = [f"CONFIG={machine / 'boot/config-0.0-other'}"] if where == "file" else []
    done = dry_run(tmp_path, *words, machine=machine)
    assert done.returncode == 0, done.stderr
    (found,) = tmp_path.glob("build-*/.config")
    have = config.parse(found.read_text())
    assert have["CONFIG_DEFAULT_HOSTNAME"] == f'"from-{taken}"'
    assert have.get("CONFIG_VSWAP") == have.get("CONFIG_ZSWAP") == "y" and have.get("CONFIG_BLK_DEV_LOOP") == "m"
    assert (have.get("CONFIG_BLK_DEV_NBD") == "m") == (where == "file")
    # With modules, those who build some of their own get the headers.
    assert [kind for kind in ("image", "headers") if f"linux-{kind}-" not in done.stdout] == []
