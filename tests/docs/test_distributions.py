# SPDX-License-Identifier: GPL-2.0
"""What docs/distributions.md tells packagers to do works on the base's sources."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
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


def top_of(tarball: Path) -> str:
    """The directory in it: linux-VERSION in upstream's, another one in a distribution's."""
    with tarfile.open(tarball) as archive:
        first = archive.next()
    assert first
    return first.name.partition("/")[0]


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


# --- The distributions' own tools, up to where the kernel would be built.

MINUTES = 1500  # seconds: 1.6 GB are unpacked
NOBODY = 65534


@pytest.fixture
def whole(squashed: Path) -> Iterator[Path]:
    """A directory that makepkg, which does not run as root, can write to, with the tarball of the base in it."""
    base = linux.cached(paths.cache_dir() / "source")
    assert base
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        shutil.copy(base.path, top)
        for path in squashed.glob("0*.patch"):
            if path.name != "02-um.patch":
                shutil.copy(path, top)
        if os.geteuid() == 0:
            for path in (top, *top.iterdir()):
                os.chown(path, NOBODY, NOBODY)
        yield top


def tool(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: {package})")
    return found


def unprivileged(top: Path, *argv: str) -> str:
    """Run it in a directory, as nobody if we are root; its output. It has to return 0."""
    as_nobody = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    user = as_nobody if os.geteuid() == 0 else []
    environment = {"PATH": os.environ["PATH"], "HOME": str(top), "LC_ALL": "C"}
    done = subprocess.run(
        [*user, *argv], cwd=top, env=environment, capture_output=True, text=True, check=False, timeout=MINUTES
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


# The loop is that of Arch's own package "linux".
OWN_LOOP = """
local src
for src in "${source[@]}"; do
	src="${src%%::*}"
	src="${src##*/}"
	[[ $src = *.patch ]] || continue
	echo "Applying patch $src..."
	patch -Np1 < "../$src"
done
scripts/config --enable VSWAP
"""
PKGBUILD = """
pkgname=linux
pkgver={version}
pkgrel=1
arch=(x86_64)
license=(GPL2)
source=({sources})
prepare() {{
	cd {top}
	make -s tinyconfig
	scripts/config --enable SMP --enable 64BIT --enable BLOCK --enable SWAP --enable ZSWAP
	{prepare}
	make -s olddefconfig
}}
package() {{
	exit 1
}}
"""


@pytest.mark.long
@pytest.mark.parametrize("loop", [True, False], ids=["loop of the package", "fragment"])
def test_makepkg(whole: Path, loop: bool) -> None:
    """With the patches in source and their checksums, as the page says, makepkg unpacks, checks and prepares."""
    makepkg = tool("makepkg", "makepkg")
    base = linux.cached(paths.cache_dir() / "source")
    fragment = re.search(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert base and fragment
    text = PKGBUILD.format(
        version=base.version, top=top_of(base.path), prepare=OWN_LOOP if loop else fragment[1],
        sources=" ".join(sorted(path.name for path in whole.iterdir())),
    )  # fmt: skip
    build = whole / "PKGBUILD"
    build.write_text(text)
    # what updpkgsums writes into the file
    sums = unprivileged(whole, makepkg, "--geninteg", "--nodeps")
    assert sums.count("\n") >= 6 and "SKIP" not in sums
    build.write_text(text + sums)
    unprivileged(whole, makepkg, "--nobuild", "--nodeps", "--nocheck")
    source = whole / "src" / top_of(base.path)
    assert {"CONFIG_VSWAP=y", "CONFIG_ZSMALLOC=y"} <= set((source / ".config").read_text().splitlines())
    assert is_patched(source)


# The functions, and the order of things, are those of Fedora's kernel.spec.
SPEC = """
Name: kernel
Version: {version}
Release: 1
Summary: test
License: GPL-2.0-only
Source0: linux-%{{version}}.tar.xz
Source1: kernel-local
Patch999999: linux-kernel-test.patch

%description
%{{summary}}

%prep
%setup -q -n {top}
ApplyPatch()
{{
  local patch=$1
  shift
  [ -f $RPM_SOURCE_DIR/$patch ] || exit 1
  {command} ${{1+"$@"}} < "$RPM_SOURCE_DIR/$patch"
}}
# Do not apply an empty file.
ApplyOptionalPatch()
{{
  local C=$(wc -l $RPM_SOURCE_DIR/$1 | awk '{{print $1}}')
  if [ "$C" -gt 9 ]; then
    ApplyPatch "$@"
  fi
}}
ApplyOptionalPatch linux-kernel-test.patch
make -s tinyconfig
scripts/config --enable SMP --enable 64BIT --enable BLOCK --enable SWAP --enable ZSWAP
cp .config base
scripts/kconfig/merge_config.sh -m base %{{SOURCE1}} > /dev/null
make -s olddefconfig
"""


@pytest.mark.long
@pytest.mark.parametrize("command", ["patch -p1 -F1 -s", "git --work-tree=. apply"])
def test_rpmbuild(whole: Path, command: str) -> None:
    """The one file for Fedora and the line for kernel-local, through %prep."""
    rpmbuild = tool("rpmbuild", "rpm")
    base = linux.cached(paths.cache_dir() / "source")
    match = re.search(r"`(cat [^`]*) > linux-kernel-test.patch`", PAGE.read_text())
    option = re.search(r"`(CONFIG_VSWAP=y)` to `kernel-local`", PAGE.read_text())
    assert base and match and option
    unprivileged(whole, "bash", "-c", f"{match[1]} > linux-kernel-test.patch")
    (whole / "kernel-local").write_text(option[1] + "\n")
    (whole / "kernel.spec").write_text(SPEC.format(version=base.version, top=top_of(base.path), command=command))
    defines = [f"--define=_{name} {whole}/{where}" for name, where in (
        ("topdir", "."), ("sourcedir", "."), ("builddir", "build"),
    )]  # fmt: skip
    (whole / "build").mkdir()
    if os.geteuid() == 0:
        os.chown(whole / "build", NOBODY, NOBODY)
    unprivileged(whole, rpmbuild, "-bp", "--nodeps", *defines, "kernel.spec")
    source = whole / "build" / top_of(base.path)
    assert "CONFIG_VSWAP=y" in (source / ".config").read_text().splitlines()
    assert is_patched(source)
