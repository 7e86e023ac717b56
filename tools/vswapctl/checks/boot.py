# SPDX-License-Identifier: GPL-2.0
"""What turns zswap or virtual swap off at the next boot."""

import re
import shlex
from collections.abc import Iterator

from vswapctl.doctor import Check, Finding, Machine
from vswapctl.kernel import Kernel
from vswapctl.units import printable

ETC = "/etc/systemd/zram-generator.conf"
# The first of them that is there counts, and drop-ins of all directories.
GENERATOR = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd")
RULES = (
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
)
TMPFILES = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d")
OFF = re.compile(r"(?i)\bzswap[./]enabled=(0|n|off)\b")
BY_UDEV = re.compile(
    r"""(?i)echo\s+["']?(0|n)\b[^;]*zswap/parameters/enabled|zswap.*ATTR\{parameters/enabled\}="(0|n)" """.strip()
)
BY_TMPFILES = re.compile(r"(?i)\s*w\S*\s+\S*/zswap/parameters/enabled(\s+\S+){4}\s+(0|n)\s*$")
# Distributions and clouds put parameters into drop-ins of Debian's grub-mkconfig.
DROP_INS = "/etc/default/grub.d"
GRUB, GRUB2 = "grub-mkconfig -o /boot/grub/grub.cfg", "grub2-mkconfig -o /boot/grub2/grub.cfg"
SECTION = re.compile(r"\s*\[zram\d+\]")


def _has_section(kernel: Kernel, path: str) -> bool:
    return any(SECTION.match(line) for line in kernel.lines(path))


def _generator_files(kernel: Kernel) -> Iterator[str]:
    first = next(
        (name for name in (f"{top}/zram-generator.conf" for top in GENERATOR) if kernel.exists(name)), None
    )
    if first and _has_section(kernel, first):
        yield first
    seen = set()
    for top in GENERATOR:
        for name in kernel.names(f"{top}/zram-generator.conf.d"):
            path = f"{top}/zram-generator.conf.d/{name}"
            if name.endswith(".conf") and name not in seen and _has_section(kernel, path):
                yield path
            seen.add(name)


def zram_generator(machine: Machine) -> Iterator[Finding]:
    """It makes a zram disk at boot, and turns zswap off for it."""
    for path in _generator_files(machine.kernel) if machine.wants_zswap else ():
        mask = ETC + path[path.index("/systemd/zram-generator.conf") + len("/systemd/zram-generator.conf") :]
        commands = [f"sudo ln -sf /dev/null {shlex.quote(mask)}"]
        if "/zram-generator.conf.d/" in path:
            commands.insert(0, f"sudo mkdir -p {ETC}.d")
        yield Finding(
            "zram-generator", f"{printable(path)} makes a zram disk at boot and turns zswap off", commands
        )


def _rules(kernel: Kernel, tops: tuple[str, ...], suffix: str, off: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    seen = set()
    for top in tops:
        for name in kernel.names(top):
            if not name.endswith(suffix) or name in seen:
                continue
            seen.add(name)  # the same name in a later directory is not used
            lines = (line for line in kernel.lines(f"{top}/{name}") if not line.lstrip().startswith("#"))
            if any(off.search(line) for line in lines):
                yield printable(f"{top}/{name}"), shlex.quote(printable(name))


def rules(machine: Machine) -> Iterator[Finding]:
    """Rules of udev or tmpfiles.d that write to zswap's switch."""
    if not machine.wants_zswap:
        return
    for path, name in _rules(machine.kernel, RULES, ".rules", BY_UDEV):
        yield Finding(
            "udev-rule",
            f"{path} turns zswap off",
            [f"sudo ln -sf /dev/null /etc/udev/rules.d/{name}", "sudo udevadm control --reload"],
        )
    for path, name in _rules(machine.kernel, TMPFILES, ".conf", BY_TMPFILES):
        yield Finding("tmpfiles", f"{path} turns zswap off", [f"sudo ln -sf /dev/null /etc/tmpfiles.d/{name}"])


def without(kernel: Kernel, word: str) -> list[str]:
    """Remove a word from the kernel's command line for good, the way this distribution does it."""
    pattern = word.replace(".", r"\.")
    if kernel.exists("/usr/sbin/grubby") or kernel.exists("/usr/bin/grubby"):
        return [f"sudo grubby --update-kernel=ALL --remove-args={word}"]
    if kernel.exists("/etc/default/grub"):
        makers = {"/usr/sbin/update-grub": "update-grub", "/usr/sbin/grub2-mkconfig": GRUB2}
        again = next((command for name, command in makers.items() if kernel.exists(name)), GRUB)
        files = ["/etc/default/grub", *(f"{DROP_INS}/{name}" for name in kernel.names(DROP_INS))]
        named = [name for name in files if word in (kernel.text(name) or "")] or files[:1]
        return [
            *(f"sudo sed -i 's/ *{pattern}//' {shlex.quote(printable(name))}" for name in named),
            f"sudo {again}",
        ]
    return [f"sudo sed -i 's/ *{pattern}//' /etc/kernel/cmdline", "sudo kernel-install add-all"]


def command_line(machine: Machine) -> Iterator[Finding]:
    """Boot parameters."""
    for word in (machine.kernel.text("/proc/cmdline") or "").split():
        if OFF.fullmatch(word) and machine.wants_zswap:
            yield Finding(
                "cmdline-zswap", f"the boot parameter {word} turns zswap off", without(machine.kernel, word)
            )
        elif word == "vswap=never" and machine.virtual:
            yield Finding(
                "cmdline-vswap",
                "the boot parameter vswap=never turns virtual swap off",
                without(machine.kernel, word),
            )


CHECKS: tuple[Check, ...] = (command_line, zram_generator, rules)
