# SPDX-License-Identifier: GPL-2.0
"""docs/clean-debian.md: what a new user types on a Debian without anything of this project, and what is said.

Run it by packaging/clean-debian. It uses the packages and disks of tests/packages/test_debian_boots.py.
"""

import logging
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from vswaplab import paths
from vswaplab.debian import machine, packages, pressure, root
from vswaplab.errors import ToolError, VswapError
from vswaplab.source import apt
from vswaplab.units import format_size

log = logging.getLogger("vswap")
PAGE = paths.repo_root() / "docs" / "clean-debian.md"
# What dpkg and apt say of each package and each percent.
_DROP = re.compile(
    r"^(\(Reading database|Selecting previously|Preparing to unpack|Unpacking |Get:|Hit:|Ign:|Fetched |Reading |"
    r"Building dependency|Scanning |debconf: |perl: warning|\s*$)|newest version|Progress:"
)
INTRO = """# On a clean Debian

The log of a new user's first hour, made by `packaging/clean-debian`: a Debian {release} of mmdebstrap with
Debian's own kernel and GRUB, in QEMU with {memory} of RAM, one emulated CPU and no swap device. Both packages are
from `make deb CONFIG=small` and `make deb-tools`. The output is as it was, without what apt and dpkg say of
each package, and without what the boot prints. `swapcheck` is the lab's program that verifies every byte of
its memory; it is not in a package. Python is installed, and nothing comes from the network.

The same Debian is booted, with more checks, by `tests/packages/test_debian_boots.py`.
"""


@dataclass
class Page:
    """The text of the page as it grows."""

    mirrors: list[str]
    parts: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """A paragraph."""
        self.parts.append(text)

    def show(self, *answers: machine.Answer) -> None:
        """What was typed, and what was printed."""
        lines = []
        for answer in answers:
            lines.append(f"# {answer.command}")
            lines += [line.rstrip() for line in answer.output.splitlines() if not _DROP.search(line)]
        self.parts.append("```text\n" + "\n".join(lines) + "\n```")

    def text(self) -> str:
        """All of it; where the packages came from is nobody's business."""
        whole = "\n\n".join(self.parts) + "\n"
        for mirror in self.mirrors:
            whole = whole.replace(mirror, "MIRROR")
        return whole


def _typed(debian: machine.Debian, page: Page, *commands: str, seconds: float = 600) -> list[machine.Answer]:
    """Run each, which has to succeed, and show them together."""
    answers = []
    for command in commands:
        log.info("# %s", command)
        answers.append(debian.run(command, seconds))
        if answers[-1].status != 0:
            raise ToolError(f"{answers[-1]}\nreturned {answers[-1].status}")
    page.show(*answers)
    return answers


def _install(debian: machine.Debian, page: Page, names: list[str]) -> None:
    page.say("Before anything is installed:")
    _typed(debian, page, "uname -r", "cat /proc/swaps", "ls")
    page.say("Both packages. vswap-tools works on this kernel as well, and says what it lacks:")
    _typed(debian, page, f"apt -q -y install {' '.join(f'./{name}' for name in names)}", seconds=3600)
    doctor = debian.run("vswapctl doctor")
    page.show(doctor)
    page.say("After `reboot`, GRUB starts the newest kernel:")


def _use(debian: machine.Debian, page: Page) -> None:
    commands = ("uname -r", "systemctl is-system-running --wait", "vswapctl doctor", "cat /proc/swaps; free -m")
    release = _typed(debian, page, *commands, seconds=900)[0]
    if not release.output.endswith("-vswap"):
        raise ToolError(f"GRUB started {release.output}")
    page.say(
        f"A program with {format_size(pressure.SIZE)} of data, on {format_size(pressure.MEMORY)} of RAM. When all "
        "is filled it waits, and `vswapctl status` says where the data is:"
    )
    passed = pressure.put_on(debian)
    if passed.verified.status != 0:
        raise ToolError(str(passed.verified))
    page.show(passed.filled, passed.status)
    page.say("Then it reads everything back:")
    page.show(machine.Answer(pressure.VERIFY, passed.verified.output, 0))
    complaints = debian.complaints()
    if complaints:
        raise ToolError(f"the kernel complained: {complaints}")
    page.say("The kernel's log had no complaint. Removed, the settings are the kernel's again:")
    settings = "grep . /sys/module/zswap/parameters/*"
    _typed(debian, page, settings, "apt -q -y purge vswap-tools", settings, seconds=1800)


def visit() -> str:
    """The text of the page, from a machine that is made and booted for it."""
    reason = root.missing() or root.unreachable()
    if reason:
        raise ToolError(reason)
    debs = [packages.kernel(), packages.tools()]
    bootable = root.bootable()
    sources = apt.archives()
    page = Page(sorted({uri.rstrip("/") for uri, _ in sources}, key=len, reverse=True))
    page.say(INTRO.format(release=apt.release_of(sources[0][1]), memory=format_size(pressure.MEMORY)).strip())
    with paths.scratch_dir(packages.cache()) as directory:
        disk = directory / "disk"
        root.copy(bootable, disk)
        root.put(disk, debs)
        with machine.running(machine.qemu(disk, memory=pressure.MEMORY, keep=True), directory) as debian:
            debian.log_in(1800)
            _install(debian, page, [deb.name for deb in debs])
            debian.send("reboot\n")
            debian.log_in(1800)
            _use(debian, page)
            debian.power_off()
    return page.text()


def main() -> int:
    """Write the page."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        paths.write_output(Path(sys.argv[1]) if sys.argv[1:] else PAGE, visit().encode())
    except VswapError as error:
        log.error("vswap: %s", error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
