# SPDX-License-Identifier: GPL-2.0
"""Disks with a small Debian on them: mmdebstrap makes the files, mke2fs the file system. Nothing is mounted.

The files come from the mirror that this machine's apt uses, once: they are kept as a tar archive, and each
disk is made of that.
"""

import os
import shlex
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.build import workloads
from vswaplab.debian import machine
from vswaplab.debian.packages import cache
from vswaplab.errors import ToolError
from vswaplab.guest.boot import SBIN
from vswaplab.proc import SYSTEM, Runner
from vswaplab.source import apt

# What a server's Debian has, with its own kernel and with GRUB; vswap-tools needs Python.
INCLUDE = (
    "systemd-sysv", "udev", "dbus", "libpam-systemd", "login", "kmod", "procps", "iproute2", "python3",
    "linux-image-cloud-amd64", "initramfs-tools", "zstd", "grub-pc-bin", "grub2-common",
)  # fmt: skip
# Root logs in without a password. Nothing starts by itself while the machine is watched.
SETUP = """set -e
cd "$1"
echo debian >etc/hostname
printf '127.0.0.1 localhost debian\\n' >etc/hosts
rm -f etc/resolv.conf
echo 'nameserver 10.0.2.3' >etc/resolv.conf
echo '/dev/vda1 / ext4 defaults 0 1' >etc/fstab
printf '[Match]\\nName=en* eth*\\n[Network]\\nDHCP=yes\\n' >etc/systemd/network/dhcp.network
cat >etc/default/grub <<END
GRUB_DEFAULT=0
GRUB_TIMEOUT=1
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX="console=ttyS0"
GRUB_TERMINAL=serial
END
chroot . passwd -d root
chroot . systemctl enable systemd-networkd
chroot . systemctl disable systemd-networkd-wait-online
chroot . systemctl mask apt-daily.timer apt-daily-upgrade.timer
"""
START = 2048  # the first sector of the one partition; GRUB lives before it
SECTOR = 512
DISK = 3 << 30  # bytes; the file is sparse
_SECONDS = 3600.0
_PATH = {"PATH": f"{os.environ.get('PATH', os.defpath)}:{SBIN}"}


def missing() -> str:
    """Why no disk can be made here; empty if nothing is in the way."""
    for program, package in (
        ("mmdebstrap", "mmdebstrap"), ("qemu-system-x86_64", "qemu-system-x86"), ("mke2fs", "e2fsprogs"),
    ):  # fmt: skip
        if shutil.which(program, path=_PATH["PATH"]) is None:
            return f"needs {program} (apt install {package})"
    if os.geteuid() != 0:
        return "needs root: mmdebstrap makes files of other users"
    return ""


def unreachable(*, runner: Runner = SYSTEM) -> str:
    """Why the files of a Debian cannot be had; empty if they can, or are in the cache already."""
    if _archive().is_file():
        return ""
    found = apt.archives()
    if not found:
        return "apt on this system has no mirror of Debian"
    silent = [suite for uri, suite in found if not apt.reachable(uri, suite, runner=runner)]
    return f"the mirror of Debian does not answer for {', '.join(silent)}" if silent else ""


def _archive() -> Path:
    sources = [f"{uri} {suite}" for uri, suite in apt.archives()]
    return cache() / f"debian-{hashing.of_text(repr((sources, INCLUDE, SETUP)))[:16]}.tar"


def archive(*, runner: Runner = SYSTEM) -> Path:
    """A Debian in a tar archive, of the release that this machine runs. Raises ToolError."""
    path = _archive()
    with paths.locked(cache() / ".archive.lock"):
        if path.is_file():
            return path
        sources = [f"deb {uri} {suite} main" for uri, suite in apt.archives()]
        release = apt.release_of(apt.archives()[0][1])
        # mmdebstrap's own files are there as well, so that nothing is left if it is killed.
        with paths.scratch_dir(cache()) as directory:
            (directory / "setup").write_text(SETUP)
            argv = [
                "mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(INCLUDE)}",
                f'--customize-hook=sh {shlex.quote(str(directory / "setup"))} "$1"',
                release, str(directory / "debian.tar"), *sources,
            ]  # fmt: skip
            runner.run(argv, env={**_PATH, "TMPDIR": str(directory), "LC_ALL": "C"}, timeout=_SECONDS)
            (directory / "debian.tar").rename(path)
    return path


def _partition_table(size: int) -> bytes:
    """The first sector of a disk with one active Linux partition: all but GRUB's code."""
    sectors = size // SECTOR - START
    far = b"\xfe\xff\xff"  # no cylinders: look at the sector numbers
    entry = struct.pack("<B3sB3sII", 0x80, far, 0x83, far, START, sectors)
    return bytes(446) + entry + bytes(48) + b"\x55\xaa"


def _install(root: Path, debs: Sequence[Path], runner: Runner) -> None:
    """apt inside installs them. /proc is mounted in a namespace of its own and ends with it."""
    for deb in debs:
        shutil.copy(deb, root / "root")
    inside = ["apt-get", "-y", "--no-install-recommends", "install", *(f"/root/{deb.name}" for deb in debs)]
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc"]
    env = {**_PATH, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    runner.run([*own, "chroot", str(root), *inside], env=env, timeout=_SECONDS)
    for deb in debs:
        (root / "root" / deb.name).unlink()


def _file_system(root: Path, disk: Path, runner: Runner) -> None:
    with disk.open("wb") as stream:
        stream.truncate(DISK)
        stream.write(_partition_table(DISK))
    argv = ["mke2fs", "-q", "-F", "-t", "ext4", "-d", str(root), "-E", f"offset={START * SECTOR}"]
    runner.run([*argv, str(disk), f"{(DISK - START * SECTOR) >> 10}K"], env=_PATH, timeout=_SECONDS)


def make(installed: Sequence[Path] = (), *, runner: Runner = SYSTEM) -> Path:
    """A directory of the cache with "disk", made once, and the files of /boot beside it. Do not write to them.

    The packages are installed. The workloads' swapcheck is in /usr/local/bin.
    """
    base = archive(runner=runner)
    programs = workloads.build(runner=runner)
    parts = [base.name, programs.name, *(f"{deb.parent.name}/{deb.name}" for deb in installed)]
    out = cache() / f"disk-{hashing.of_text(repr([parts, DISK]))[:16]}"
    with paths.locked(cache() / ".disk.lock"):
        if out.is_dir():
            return out
        with paths.scratch_dir(cache()) as directory, paths.atomic_dir(out) as made:
            root = directory / "root"
            root.mkdir()
            unpack = ["tar", "-C", str(root), "--numeric-owner", "--xattrs", "-xpf", str(base)]
            runner.run(unpack, timeout=_SECONDS)
            shutil.copy(programs / "swapcheck", root / "usr/local/bin")
            if installed:
                _install(root, installed, runner)
            for path in (root / "boot").glob("[vic]*"):
                shutil.copy(path, made)
            _file_system(root, made / "disk", runner)
    return out


def copy(source: Path, target: Path, *, runner: Runner = SYSTEM) -> None:
    """A disk that may be written to."""
    runner.run(["cp", "--sparse=always", str(source), str(target)], timeout=_SECONDS)


def bootable(*, runner: Runner = SYSTEM) -> Path:
    """A disk with nothing of ours installed, which boots by GRUB: put there by a Debian that runs on it."""
    plain = make(runner=runner)
    disk = plain / "grub"
    with paths.locked(cache() / ".disk.lock"):
        if disk.is_file():
            return disk
        with paths.scratch_dir(cache()) as directory:
            made = directory / "disk"
            copy(plain / "disk", made, runner=runner)
            kernel, initrd = kernel_of(plain, "*-cloud-amd64")
            argv = machine.qemu(made, memory=512 << 20, kernel=kernel, initrd=initrd, keep=True)
            with machine.running(argv, directory) as debian:
                debian.log_in(1800)
                debian.ok("grub-install /dev/vda && update-grub && sync", 1800)
                debian.power_off()
            made.rename(disk)
    return disk


def put(disk: Path, files: Sequence[Path], *, runner: Runner = SYSTEM) -> None:
    """Files into /root of a disk that no machine runs on."""
    for path in files:
        write = f'write "{path}" "root/{path.name}"'
        runner.run(["debugfs", "-w", "-R", write, f"{disk}?offset={START * SECTOR}"], env=_PATH, timeout=_SECONDS)


def kernel_of(directory: Path, pattern: str) -> tuple[Path, Path | None]:
    """The kernel of make()'s directory whose release matches, and its initrd if it has one."""
    found = sorted(directory.glob(f"vmlinuz-{pattern}"))
    if len(found) != 1:
        raise ToolError(f"{len(found)} kernels vmlinuz-{pattern} in {directory}")
    initrd = directory / f"initrd.img-{found[0].name.removeprefix('vmlinuz-')}"
    return found[0], initrd if initrd.is_file() else None
