# SPDX-License-Identifier: GPL-2.0
"""Stand-ins for the outside world: a recording Runner, small kernel trees and tarballs."""

import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vswaplab.errors import ToolError
from vswaplab.proc import Result
from vswaplab.series import stored
from vswaplab.series.stored import Store

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

mm/%.o: $(O)/mm/%.o
	@:

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
            "arch/um/tlb.c": "flush\n",
        },
    )


AUTHOR = "J\u00f6rg Hacker <joerg@example.org>"
SIGNED = f"Signed-off-by: {AUTHOR}"

# The small series: a fix for User-Mode Linux, an edit of the base, and files of ours. Both commits of the
# last topic touch mm/vswap/Makefile, so that one is no whole file.
UM = "01-um/0001-um-wait.patch"
HOOK = "02-prep/0001-mm-swap-add-a-hook.patch"
FIRST = "03-vswap/0001-mm-vswap-the-first-half.patch"
REST = "03-vswap/0002-mm-vswap-the-rest.patch"


def mail(subject: str, topic: str, diff: str = "", *, adds: str = "", body: str = "Why.") -> str:
    """A patch as git format-patch writes it, our trailers included."""
    added = "".join(f"Adds: {name}\n" for name in adds.split())
    return (
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        f"From: {AUTHOR}\nDate: Sun, 22 Nov 2026 12:00:00 -0330\nSubject: [PATCH] {subject}\n"
        "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n"
        f"{body}\n\nTopic: {topic}\n{added}{SIGNED}\n\n{diff}"
    )


def diff(name: str, hunks: str, head: str = "") -> str:
    """A diff of one file."""
    old = "/dev/null" if head.startswith("new file") else f"a/{name}"
    return f"diff --git a/{name} b/{name}\n{head}--- {old}\n+++ b/{name}\n{hunks}"


def series(directory: Path) -> Store:
    """patches/ and kernel/ with the small series."""
    makefile = "mm/vswap/Makefile"
    made = diff(makefile, "@@ -0,0 +1 @@\n+obj-y += space.o\n", "new file mode 100644\n")
    more = diff(makefile, "@@ -1 +1,2 @@\n obj-y += space.o\n+obj-y += zero.o\n")
    two = "@@ -37,5 +37,5 @@ line 35\n line 36\n line 37\n line 38\n-line 39\n+hook two\n line 40\n"
    one = "@@ -8,6 +8,7 @@ line 7\n line 8\n line 9\n line 10\n+hook one\n line 11\n line 12\n line 13\n"
    write_tree(
        directory / "patches",
        {
            "cover.txt": "mm: virtual swap\n\nFirst paragraph.\n\nSecond one.\n",
            UM: mail("um: wait", "um", diff("arch/um/tlb.c", "@@ -1 +1,2 @@\n flush\n+wait\n")),
            HOOK: mail("mm/swap: add a hook", "prep", diff("mm/swap.c", one), body="Why it is needed."),
            FIRST: mail(
                "mm/vswap: the first half", "vswap", made + diff("mm/swap.c", two), adds="mm/vswap/space.c"
            ),
            REST: mail("mm/vswap: the rest", "vswap", more, adds="mm/vswap/zero.c"),
        },
    )
    whole = {"mm/vswap/space.c": "int one;\nint two;\nint three;\n", "mm/vswap/zero.c": "int zero;\n"}
    write_tree(directory / "kernel", whole)
    return Store(directory / "patches", directory / "kernel")


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


def edited_only(base: Path, target: Path, others: Sequence[str] = ()) -> Path:
    """The files of the real ``base`` that the real series edits, and ``others``, in a directory of their own."""
    for name in (*stored.edited_names(stored.ours()), *others):
        if (base / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(base / name, target / name)
    return target
