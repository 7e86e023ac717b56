# SPDX-License-Identifier: GPL-2.0
"""What turns zswap or virtual swap off at the next boot."""

import os
import re
import shlex
from collections.abc import Iterator

from vswapctl import zramconf
from vswapctl.doctor import Check, Finding, Machine
from vswapctl.kernel import Kernel
from vswapctl.units import printable

RULES = (
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
)
TMPFILES = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d")
# As the kernel's kstrtobool() has it: the first letter decides, of "on" and "off" the second.
OFF = re.compile(r"zswap[./]enabled=(?:[nNfF0]|[oO][fF])\w*")
ON = re.compile(r"zswap[./]enabled(?:=(?:[yYtT1]|[oO][nN])\S*)?")
BY_UDEV = re.compile(
    r"""(?i)echo\s+["']?(0|n)\b[^;]*zswap/parameters/enabled|zswap.*ATTR\{parameters/enabled\}="(0|n)" """.strip()
)
BY_TMPFILES = re.compile(r"(?i)\s*w\S*\s+\S*/zswap/parameters/enabled(\s+\S+){4}\s+(0|n)\s*$")
# Distributions and clouds put parameters into drop-ins of Debian's grub-mkconfig.
DROP_INS = "/etc/default/grub.d"
GRUB, GRUB2 = "grub-mkconfig -o /boot/grub/grub.cfg", "grub2-mkconfig -o /boot/grub2/grub.cfg"


def _off(path: str, over: str, lines: list[int], whole: bool) -> list[str]:
    """Make a file do nothing, or only some of its lines; nobody's own text is lost.

    ``over`` is the file below /etc that takes its place, ``lines`` are to be commented out, ``whole`` if there is
    nothing but them.
    """
    quoted, own = shlex.quote(printable(path)), shlex.quote(printable(over))
    if path != over and whole:
        return [f"sudo mkdir -p {shlex.quote(printable(os.path.dirname(over)))}", f"sudo ln -s /dev/null {own}"]
    comment = f"sudo sed -i '{';'.join(f'{number}s/^/#/' for number in lines)}' {own}"
    return [comment] if path == over else [f"sudo cp {quoted} {own}", comment]


def zram_generator(machine: Machine) -> Iterator[Finding]:
    """It makes a zram disk at boot, and turns zswap off for it."""
    if not machine.wants_zswap:
        return
    word = zramconf.parameter(machine.kernel)
    if word:
        text = f"the boot parameter {word} makes a zram disk and turns zswap off"
        yield Finding("cmdline-zram", text, without(machine.kernel, word))
    for path in zramconf.files(machine.kernel):
        over = f"/etc/systemd/{path[path.index(zramconf.NAME) :]}"
        # An empty file of /etc is as good as none at all: what is elsewhere by that name is not read.
        lines = [
            number for number, line in enumerate(machine.kernel.lines(path), 1) if line.strip() and line[0] != "#"
        ]
        yield Finding(
            "zram-generator",
            f"{printable(path)} makes a zram disk at boot and turns zswap off",
            _off(path, over, lines, whole=True),
        )


def zram_tools(machine: Machine) -> Iterator[Finding]:
    """Debian's zram-tools make one as well, and leave zswap on in front of it."""
    if machine.wants_zswap and zramconf.service(machine.kernel):
        yield Finding(
            "zram-tools",
            f"{zramconf.SERVICE} (zram-tools, /etc/default/zramswap) makes a zram disk at boot, behind zswap",
            ["sudo systemctl disable --now zramswap.service"],
        )


def _rules(
    kernel: Kernel, tops: tuple[str, ...], suffix: str, off: re.Pattern[str]
) -> Iterator[tuple[str, list[str]]]:
    """Files with lines that turn zswap off, and the commands against that."""
    seen = set()
    for top in tops:
        for name in kernel.names(top):
            if not name.endswith(suffix) or name in seen:
                continue
            seen.add(name)  # the same name in a later directory is not used
            active = {
                number: line
                for number, line in enumerate(kernel.lines(f"{top}/{name}"), 1)
                if line.strip() and not line.lstrip().startswith("#")
            }
            lines = [number for number, line in active.items() if off.search(line)]
            if lines:
                commands = _off(f"{top}/{name}", f"{tops[0]}/{name}", lines, whole=len(lines) == len(active))
                where = ", ".join(map(str, lines))
                yield f"{printable(f'{top}/{name}')} turns zswap off (line {where})", commands


def rules(machine: Machine) -> Iterator[Finding]:
    """Rules of udev or tmpfiles.d that write to zswap's switch."""
    if not machine.wants_zswap:
        return
    for text, commands in _rules(machine.kernel, RULES, ".rules", BY_UDEV):
        yield Finding("udev-rule", text, [*commands, "sudo udevadm control --reload"])
    for text, commands in _rules(machine.kernel, TMPFILES, ".conf", BY_TMPFILES):
        yield Finding("tmpfiles", text, commands)


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
    return [f"sudo sed -i 's/ *{pattern}//' /etc/kernel/cmdline", _install(kernel)]


def _install(kernel: Kernel) -> str:
    """Make the boot entry again. "add-all", or "add" without an image, needs systemd 255."""
    release = kernel.word("/proc/sys/kernel/osrelease")
    at_boot = f"/boot/vmlinuz-{release}"
    modules = not kernel.exists(at_boot) or kernel.exists(f"/usr/lib/modules/{release}/vmlinuz")
    image = "/usr/lib/modules/$(uname -r)/vmlinuz" if modules else "/boot/vmlinuz-$(uname -r)"
    return f'sudo kernel-install add "$(uname -r)" "{image}"'


def command_line(machine: Machine) -> Iterator[Finding]:
    """Boot parameters; the last of a kind counts."""
    off: list[str] = []
    mode = None
    for word in (machine.kernel.text("/proc/cmdline") or "").split():
        if OFF.fullmatch(word):
            off += [word] if word not in off else []
        elif ON.fullmatch(word):
            off = []
        elif word in ("vswap=never", "vswap=auto", "vswap=always"):
            mode = word
    for word in off if machine.wants_zswap else ():
        yield Finding("cmdline-zswap", f"the boot parameter {word} turns zswap off", without(machine.kernel, word))
    if mode == "vswap=never" and machine.virtual:
        text = "the boot parameter vswap=never turns virtual swap off"
        yield Finding("cmdline-vswap", text, without(machine.kernel, mode))
    if machine.snap.off_at_boot:
        word = "vswap.max_gb=0"
        text = f"the boot parameter {word} turns virtual swap off"
        yield Finding("cmdline-max-gb", text, without(machine.kernel, word))


CHECKS: tuple[Check, ...] = (command_line, zram_generator, zram_tools, rules)
