# SPDX-License-Identifier: GPL-2.0
"""The Debian in QEMU, as far as neither of them is needed."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from vswaplab.debian import machine, newuser, packages, root
from vswaplab.errors import BuildError, GuestLost, GuestTimeout, ToolError
from vswaplab.guest.boot import SBIN
from vswaplab.proc import SYSTEM, Result

BLKID = shutil.which("blkid", path=f"{os.environ.get('PATH', os.defpath)}:{SBIN}")
# It asks who is there, as a serial console does, and then is a shell.
PRETENDER = r"""
printf 'Debian GNU/Linux 12 debian ttyS0\r\n\r\ndebian login: '; read -r name
[ "$name" = root ] || exit 1
printf '\033[?2004hroot@debian:~# '; read -r line
PS1='[vswap:$?]' exec sh -i
"""


@pytest.fixture
def pretender(tmp_path: Path) -> Iterator[machine.Debian]:
    with machine.running(["sh", "-c", PRETENDER], tmp_path) as debian:
        debian.log_in(30)
        yield debian


def test_commands_and_what_they_return(pretender: machine.Debian) -> None:
    answer = pretender.run("echo one; echo two; (exit 3)")
    assert (answer.output, answer.status) == ("one\ntwo", 3)
    assert pretender.ok("printf ' 5%%\\r99%%\\ra\\r\\n\\033[1mb\\033[0m'") == "a\nb"
    with pytest.raises(ToolError, match="'false' in the machine returned 1"):
        pretender.ok("false")
    assert "root@debian" in pretender.console and "\x1b" not in pretender.console


def test_a_command_that_takes_too_long(pretender: machine.Debian) -> None:
    with pytest.raises(GuestTimeout, match="within 0.3 s"):
        pretender.run("sleep 30", 0.3)


def test_a_machine_that_ends_or_panics(pretender: machine.Debian, tmp_path: Path) -> None:
    with pytest.raises(GuestLost, match="last words"):
        pretender.run("echo last words; exit 0")
    panic = "echo '[    1.0] Kernel panic - not syncing: no root'; sleep 60"
    with machine.running(["sh", "-c", panic], tmp_path) as debian, pytest.raises(GuestLost, match="no root"):
        debian.log_in(30)


def test_a_complaint_is_found_on_the_console(pretender: machine.Debian) -> None:
    pretender.ok("dmesg() { echo '[    2.0] BUG: in its log'; }")
    assert pretender.complaints() == ["BUG: in its log"]
    pretender.ok("dmesg() { :; }; echo '[    1.0] WARNING: on the console'")
    assert "WARNING: on the console" in pretender.complaints()


@pytest.mark.skipif(BLKID is None, reason="blkid is not installed (apt install util-linux)")
def test_a_disk_with_files(tmp_path: Path) -> None:
    """Other programs than the one that wrote it know the partition, and the file system where it says."""
    (tmp_path / "root" / "root").mkdir(parents=True)
    disk = tmp_path / "disk"
    root._file_system(tmp_path / "root", disk, SYSTEM)
    assert disk.stat().st_blocks * 512 < root.DISK // 10

    def probed(*options: str) -> str:
        argv = [str(BLKID), "--probe", *options, str(disk)]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    (tmp_path / "note").write_text("hello")
    root.put(disk, [tmp_path / "note"])
    argv = ["debugfs", "-R", "cat root/note", f"{disk}?offset={root.START * root.SECTOR}"]
    env = {**os.environ, **root._PATH}
    assert subprocess.run(argv, capture_output=True, text=True, env=env, check=True).stdout == "hello"
    assert 'PTTYPE="dos"' in probed()
    assert 'TYPE="ext4"' in probed("--offset", str(root.START * root.SECTOR))


def test_the_page_names_no_mirror() -> None:
    page = newuser.Page(["http://mirror.example/debian-security", "http://mirror.example/debian"])
    output = (
        "Get:1 http://mirror.example/debian bookworm/main\nreading http://mirror.example/debian-security\n"
        "Setting up vswap-tools (0.1.0) ...\n(Reading database ... 5%\n\n"
    )
    page.show(machine.Answer("apt install", output, 0), machine.Answer("true", "", 0))
    assert page.text() == (
        "```text\n# apt install\nreading MIRROR\nSetting up vswap-tools (0.1.0) ...\n# true\n```\n"
    )


class FakeMake:
    """make, and what it leaves in OUT."""

    def __init__(self, *names: str, status: int = 0) -> None:
        self.names, self.status = names, status
        self.calls = 0

    def run(self, argv: Sequence[str], **_options: object) -> Result:
        self.calls += 1
        out = next(word.removeprefix("OUT=") for word in argv if word.startswith("OUT="))
        for name in self.names:
            (Path(out) / name).write_text("a package")
        return Result(argv, self.status, "", "make: no such compiler")


def test_packages_are_built_once(cache: Path) -> None:
    make = FakeMake("vswap-tools_1_all.deb", "something.else")
    built = packages.tools(runner=make)
    assert built.read_text() == "a package" and built.is_relative_to(cache)
    assert packages.tools(runner=make) == built and make.calls == 1
    assert [path.name for path in built.parent.iterdir()] == ["vswap-tools_1_all.deb"]
    assert [path for path in packages.cache().iterdir() if path.name.startswith(".vswap-")] == []


@pytest.mark.parametrize("make", [FakeMake("vswap-tools_1_all.deb", status=2), FakeMake()])
def test_a_package_that_is_not_built(cache: Path, make: FakeMake) -> None:
    with pytest.raises(BuildError, match="make deb-tools failed: make: no such compiler; log: "):
        packages.tools(runner=make)
    assert [path.name for path in packages.cache().iterdir()] == [".packages.lock"]
    assert (cache / "log" / "deb-tools.log").read_text() == "make: no such compiler"
