# SPDX-License-Identifier: GPL-2.0
"""Stand-ins for the outside world: a recording Runner, small kernel trees and tarballs."""

import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vswaplab.errors import ToolError
from vswaplab.proc import Result

Action = Callable[[Sequence[str], Path | None], Result | None]

# Enough of kbuild for the lab: two configuration targets and two images.
MAKEFILE = """\
VERSION = 7
PATCHLEVEL = 3
SUBLEVEL = {point}
EXTRAVERSION =

KCONFIG_CONFIG ?= .config
config := $(O)/$(KCONFIG_CONFIG)

tinyconfig:
	@echo 'CONFIG_TINY=y' > $(config)
	@echo '# CONFIG_SWAP is not set' >> $(config)

olddefconfig:
	@grep -v IMPOSSIBLE $(config) > $(config).tmp && mv $(config).tmp $(config)

vmlinux bzImage: $(O)/mm/swap.o $(O)/mm/other.o
	@mkdir -p $(O)/include/config $(O)/arch/x86/boot
	@echo 7.3.{point}$(LOCALVERSION) > $(O)/include/config/kernel.release
	cat $^ > $(O)/$(if $(filter bzImage,$@),arch/x86/boot/bzImage,vmlinux)

$(O)/mm/%.o: mm/%.c
	@mkdir -p $(O)/mm
	@echo '  CC      mm/$*.o'
	@if grep -q BROKEN $<; then echo 'mm/$*.c:1: error: BROKEN'; false; fi
	@cp $< $@
"""

SWAP_C = "".join(f"line {number}\n" for number in range(1, 41))


def write_tree(directory: Path, files: Mapping[str, str]) -> Path:
    """Files with these contents below a directory."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def kernel_base(directory: Path, point: int = 4) -> Path:
    """A small tree with the shape of a kernel's."""
    return write_tree(
        directory,
        {
            "Makefile": MAKEFILE.format(point=point),
            "Documentation/Makefile": "VERSION = 1\n",
            ".gitignore": "*.o\n.*\n!.gitignore\n",
            "mm/swap.c": SWAP_C,
            "mm/other.c": "other\n",
            "mm/gone.c": "to be removed\n",
        },
    )


def tarball(path: Path, base: Path, top: str = "linux-source-7.3") -> Path:
    """A .tar.xz of a tree below one directory, as kernel tarballs are."""
    with tarfile.open(path, "w:xz", preset=0) as archive:
        archive.add(base, arcname=top)
    return path


@dataclass
class RecordingRunner:
    """A Runner that records what it is asked to start, and does what ``actions`` say.

    An action sees the arguments and the directory and returns a Result, or None if the command
    is none of its business. A command that no action takes fails as if it were not installed.
    """

    actions: list[Action] = field(default_factory=list)
    started: list[list[str]] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float | None = None,
        check: bool = True,
        on_line: Callable[[str], None] | None = None,
    ) -> Result:
        """Record, then act. See vswaplab.proc.Runner."""
        self.started.append(list(argv))
        for action in self.actions:
            result = action(argv, cwd)
            if result is None:
                continue
            if check and result.returncode != 0:
                raise ToolError(f"{argv[0]} failed: {result.last_line()}")
            return result
        raise ToolError(f"{argv[0]} is not installed")
