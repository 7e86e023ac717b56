# SPDX-License-Identifier: GPL-2.0
"""The configuration of a kernel: tinyconfig, then the fragments in configs/, then a check.

A fragment holds CONFIG_X=value lines; "# CONFIG_X is not set" and CONFIG_X=n mean the same.
An option may be asked for by several fragments; the last one decides.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.errors import ConfigError
from vswaplab.proc import SYSTEM, Runner

KERNELS = ("vswap", "mainline", "vswap-off")
ARCHES = ("um", "x86_64")
FLAVOURS = ("release", "debug", "bench", "full", "minimal", "preempt", "rt", "kcsan", "coverage")
X86_64_ONLY = ("preempt", "rt", "kcsan")  # flavours that User-Mode Linux cannot have

# Flavours that are another one and more.
_BASES = {"bench": "release", "full": "release", "coverage": "debug"}

_OPTION = re.compile(r"(CONFIG_\w+)=(.*)")
_NOT_SET = re.compile(r"# (CONFIG_\w+) is not set")


def exists(arch: str, flavour: str) -> bool:
    """Whether kernels of this architecture come in this flavour."""
    return arch == "x86_64" or flavour not in X86_64_ONLY


def fragments(kernel: str, arch: str, flavour: str, directory: Path) -> list[Path]:
    """The fragment files for one kernel, in the order they apply; those that exist."""
    flavours = [_BASES[flavour], flavour] if flavour in _BASES else [flavour]
    names = ["common", arch, *(f"{one}{part}" for one in flavours for part in ("", f"-{arch}"))]
    if kernel in KERNELS and kernel != "mainline":
        names.append(kernel)
    if kernel == "vswap":
        names += [f"{one}-vswap" for one in flavours]
    return [path for name in names if (path := directory / f"{name}.config").is_file()]


def parse(text: str) -> dict[str, str]:
    """The options of a fragment or a .config; "n" for those that are not set."""
    options = {}
    for line in text.splitlines():
        if match := _OPTION.fullmatch(line.strip()):
            options[match[1]] = match[2]
        elif match := _NOT_SET.fullmatch(line.strip()):
            options[match[1]] = "n"
    return options


def requested(parts: Sequence[Path]) -> dict[str, str]:
    """Everything the fragments ask for."""
    wanted: dict[str, str] = {}
    for part in parts:
        wanted.update(parse(part.read_text()))
    return wanted


def missing(wanted: dict[str, str], config: str) -> list[str]:
    """The requests that ``config``, the text of a .config, does not fulfil."""
    have = parse(config)
    return [f"{name}={value}" for name, value in wanted.items() if have.get(name, "n") != value]


def render(wanted: dict[str, str]) -> str:
    """The options as lines of a .config."""
    return "".join(
        f"# {name} is not set\n" if value == "n" else f"{name}={value}\n" for name, value in wanted.items()
    )


def _make(tree: Path, out: Path, arch: str, temporary: str, target: str, runner: Runner) -> None:
    argv = ["make", "-s", f"ARCH={arch}", f"O={out}", f"KCONFIG_CONFIG={temporary}", target]
    runner.run(argv, cwd=tree, env=paths.MAKE_ENV)


def generate(tree: Path, out: Path, arch: str, wanted: dict[str, str], runner: Runner = SYSTEM) -> str:
    """The full .config text for the options ``wanted``; nothing in ``out`` but a temporary file."""
    temporary = out / ".config.new"
    try:
        _make(tree, out, arch, temporary.name, "tinyconfig", runner)
        tiny = {name: v for name, v in parse(temporary.read_text()).items() if name not in wanted}
        temporary.write_text(render({**tiny, **wanted}))  # in a choice the last line wins
        _make(tree, out, arch, temporary.name, "olddefconfig", runner)
        return temporary.read_text()
    finally:
        for path in out.glob(".config.new*"):
            path.unlink()


def configure(
    tree: Path, out: Path, arch: str, parts: Sequence[Path], *, strict: bool = True, runner: Runner = SYSTEM
) -> Path:
    """Make ``out/.config`` what the fragments ask for; the file changes only if its text does.

    With ``strict``, raises ConfigError naming every requested option that did not survive.
    """
    wanted = requested(parts)
    text = generate(tree, out, arch, wanted, runner)
    lost = missing(wanted, text)
    if strict and lost:
        raise ConfigError(f"the kernel's configuration refuses: {', '.join(lost)}")
    config = out / ".config"
    if not config.is_file() or config.read_text() != text:
        paths.write_file(config, text.encode())
    return config


def fragments_hash(parts: Sequence[Path]) -> str:
    """A checksum over the names and texts of the fragments."""
    return hashing.of_text("".join(f"{part.name}\0{part.read_text()}\0" for part in parts))
