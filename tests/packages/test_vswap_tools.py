# SPDX-License-Identifier: GPL-2.0
"""The Debian package vswap-tools: built, looked into, installed into a scratch root, used, removed."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools import fakes
from vswaplab import paths

pytestmark = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is Debian's")
TOP = paths.repo_root()


def run(*argv: str | Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a program that has to succeed."""
    done = subprocess.run(
        [str(word) for word in argv],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, as the Makefile builds it."""
    out = tmp_path_factory.mktemp("deb")
    said = run("make", "-s", "-C", TOP, "deb-tools", f"OUT={out}")
    built = Path(said.strip().splitlines()[-1])
    assert built.parent == out and built.name.startswith("vswap-tools_")
    return built


def listed(package: Path) -> dict[str, str]:
    """What is in the package: path and mode, owner."""
    found = {}
    for line in run("dpkg-deb", "-c", package).splitlines():
        mode, owner, *_, name = line.partition(" -> ")[0].split()
        found[name.removeprefix(".")] = f"{mode} {owner}"
    return found


def test_what_is_in_it(package: Path) -> None:
    files = {name: mode for name, mode in listed(package).items() if not name.endswith("/")}
    modules = {f"/usr/share/vswap/{path.relative_to(TOP / 'tools')}" for path in (TOP / "tools").rglob("*.py")}
    assert set(files) == modules | {
        "/etc/vswap.conf",
        "/usr/lib/systemd/system/vswap.service",
        "/usr/bin/vswapctl",
        "/usr/share/bash-completion/completions/vswapctl",
        "/usr/share/doc/vswap-tools/changelog.gz",
        "/usr/share/doc/vswap-tools/copyright",
        "/usr/share/lintian/overrides/vswap-tools",
        "/usr/share/man/man1/vswapctl.1.gz",
        "/usr/share/vswap/bin/vswapctl",
        "/usr/share/vswap/vswapctl/grafana.json",
    }
    assert all(mode.endswith(" root/root") for mode in files.values())
    assert files["/usr/share/vswap/bin/vswapctl"].startswith("-rwxr-xr-x")
    assert {mode[:10] for name, mode in files.items() if not name.endswith("/bin/vswapctl")} == {"-rw-r--r--"}


def test_what_it_says(package: Path, tmp_path: Path) -> None:
    assert run("dpkg-deb", "-f", package, "Package", "Architecture", "Depends").splitlines() == [
        "Package: vswap-tools", "Architecture: all", "Depends: python3 (>= 3.11)",
    ]  # fmt: skip
    run("dpkg-deb", "-e", package, tmp_path)
    assert (tmp_path / "conffiles").read_text() == "/etc/vswap.conf\n"
    for script in ("postinst", "prerm", "postrm"):
        run("sh", "-n", tmp_path / script)


def test_it_is_built_the_same_again(package: Path, tmp_path: Path) -> None:
    run(TOP / "packaging/vswap-tools/build", tmp_path)
    assert (tmp_path / package.name).read_bytes() == package.read_bytes()


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not installed")
def test_lintian_has_nothing_to_say(package: Path) -> None:
    argv = ["lintian", "--fail-on", "error,warning", "--allow-root", str(package)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "W:" not in done.stdout + done.stderr, done.stdout + done.stderr


class Scratch:
    """A root directory that the package is installed into, with a kernel of files."""

    def __init__(self, top: Path) -> None:
        self.top = top
        fakes.write(fakes.ours(top), fakes.zswap("N"))
        admin = top / "var/lib/dpkg"
        admin.mkdir(parents=True)
        (admin / "status").touch()
        (admin / "available").touch()

    def dpkg(self, *words: str | Path) -> str:
        """dpkg on this root. Scripts run outside of it, and find it in $DPKG_ROOT."""
        force = "--force-script-chrootless,not-root,depends,bad-path,confold"
        return run("dpkg", f"--root={self.top}", force, "--log=/dev/null", *words)

    def ctl(self, *words: str) -> str:
        """The installed vswapctl."""
        return run(self.top / "usr/bin/vswapctl", "--root", self.top, *words)

    def zswap(self, name: str) -> str:
        """A parameter of zswap."""
        return (self.top / "sys/module/zswap/parameters" / name).read_text().strip()

    def files(self) -> set[str]:
        """Everything but dpkg's own files."""
        return {
            f"/{path.relative_to(self.top)}"
            for path in self.top.rglob("*")
            if not path.is_relative_to(self.top / "var/lib/dpkg") and (path.is_symlink() or not path.is_dir())
        }


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """An empty root."""
    return Scratch(tmp_path / "root")


def test_install_set_up_remove(package: Path, scratch: Scratch) -> None:
    before = scratch.files()
    scratch.dpkg("-i", package)
    assert "/usr/bin/vswapctl" in scratch.files()
    assert scratch.ctl("--version").startswith("vswapctl ")
    # As the service does at boot.
    assert "enabled: Y" in scratch.ctl("setup")
    assert [scratch.zswap(name) for name in ("enabled", "max_pool_percent", "shrinker_enabled")] == [
        "Y",
        "50",
        "Y",
    ]
    # Installed again, over itself: zswap stays on.
    scratch.dpkg("-i", package)
    assert scratch.zswap("enabled") == "Y"
    # Removed: as it was before. The configuration remains until purge, and that the service was enabled.
    scratch.dpkg("-r", "vswap-tools")
    assert [scratch.zswap(name) for name in ("enabled", "max_pool_percent", "shrinker_enabled")] == [
        "N",
        "20",
        "N",
    ]
    remains = {name for name in scratch.files() - before if "systemd" not in name}
    assert remains == {"/etc/vswap.conf"}
    scratch.dpkg("-P", "vswap-tools")
    assert scratch.files() == before


def test_an_edited_configuration_survives_an_upgrade(package: Path, scratch: Scratch) -> None:
    scratch.dpkg("-i", package)
    conf = scratch.top / "etc/vswap.conf"
    conf.write_text(conf.read_text().replace("max_pool_percent = 50", "max_pool_percent = 75"))
    scratch.dpkg("-i", package)
    scratch.ctl("setup")
    assert scratch.zswap("max_pool_percent") == "75"


def test_the_service_runs_what_is_installed(package: Path, scratch: Scratch) -> None:
    scratch.dpkg("-i", package)
    unit = (scratch.top / "usr/lib/systemd/system/vswap.service").read_text()
    assert "ConditionVirtualization=!container" in unit.splitlines()
    commands = [line.partition("=")[2].split() for line in unit.splitlines() if line.startswith("Exec")]
    assert [words[0] for words in commands] == ["/usr/bin/vswapctl"] * 3
    for words in commands:
        run(scratch.top / words[0].lstrip("/"), "--root", scratch.top, *words[1:])


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("mmdebstrap") is None or os.geteuid() != 0,
    reason="needs mmdebstrap (apt install mmdebstrap), root",
)
def test_in_a_clean_debian(package: Path, tmp_path: Path) -> None:
    """apt installs it with what it depends on, its scripts run inside, and nothing remains after purge."""
    root = tmp_path / "debian"
    run("mmdebstrap", "--variant=apt", "--include=python3", "bookworm", root)
    shutil.copy(package, root / "root")

    def inside(*words: str) -> str:
        return run("chroot", root, *words, env={"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})

    inside("apt-get", "install", "-y", "--no-install-recommends", f"/root/{package.name}")
    assert inside("vswapctl", "--version").startswith("vswapctl ")
    assert list((root / "usr/share/vswap/vswapctl/__pycache__").glob("*.pyc"))
    inside("apt-get", "purge", "-y", "vswap-tools")
    assert not (root / "usr/share/vswap").exists() and not (root / "etc/vswap.conf").exists()
