# SPDX-License-Identifier: GPL-2.0
"""The kernels to compare: the lab's own, or NAME=PATH with patches, a source tree or an image."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vswaplab import paths
from vswaplab.build import config, kbuild
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.errors import UsageError
from vswaplab.proc import SYSTEM, Runner
from vswaplab.progress import Progress, Silent
from vswaplab.series import stored
from vswaplab.source import linux
from vswaplab.tree import buildtree, overlay, patchset, usertree
from vswaplab.tree.buildtree import Tree

Kind = Literal["lab", "patches", "tree", "image"]
BASE = "mainline"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_EXECUTABLE, _BZIMAGE = b"\x7fELF", b"HdrS"


@dataclass(frozen=True)
class Choice:
    """A kernel that was asked for; ``path`` is None for one of the lab's."""

    name: str
    kind: Kind
    path: Path | None = None


@dataclass(frozen=True)
class Kernel:
    """A kernel that has shown that it boots; ``vswap``: it has virtual swap."""

    built: BuiltKernel
    vswap: bool
    release: str = ""
    config: str = ""
    sources: str = ""  # the checksum of what it has of ours, for one of the lab's


def _kind_of(path: Path, text: str) -> Kind:
    if path.is_file():
        if path.suffix == ".patch":
            return "patches"
        head = path.read_bytes()[:0x206]
        if head[:4] == _EXECUTABLE or head[0x202:0x206] == _BZIMAGE:
            return "image"
        raise UsageError(f"--kernel {text}: neither a kernel image (vmlinux for um, bzImage) nor a .patch file")
    if not path.is_dir():
        raise UsageError(f"--kernel {text}: there is no {path}")
    if (path / "MAINTAINERS").is_file() and (path / "Kbuild").is_file():
        return "tree"
    if any(path.glob("*.patch")):
        return "patches"
    raise UsageError(f"--kernel {text}: no kernel source tree, and no *.patch files in it")


def parse(text: str) -> Choice:
    """The choice for "NAME=PATH". Raises UsageError."""
    name, equals, where = text.partition("=")
    if not equals or not where or not _NAME.fullmatch(name):
        raise UsageError(f"bad kernel {text!r}: expected NAME=PATH, NAME of lower-case letters, digits and ._-")
    if name in config.KERNELS:
        raise UsageError(f"--kernel {text}: the lab has a kernel {name!r}; choose another name")
    path = Path(where).expanduser().absolute()
    return Choice(name, _kind_of(path, text), path)


def one(text: str) -> Choice:
    """One kernel: a name of the lab's or NAME=PATH. Raises UsageError."""
    return parse(text) if "=" in text else choose([text], [])[0]


def choose(names: Sequence[str], others: Sequence[str]) -> list[Choice]:
    """The kernels in the order of a run: those of the lab by name, then NAME=PATH. Raises UsageError."""
    for name in names:
        if name not in config.KERNELS:
            raise UsageError(f"no kernel {name!r}; there are: {', '.join(config.KERNELS)}, and --kernel NAME=PATH")
    choices = [Choice(name, "lab") for name in names] + [parse(text) for text in others]
    if len({choice.name for choice in choices}) < len(choices):
        raise UsageError("a kernel is named twice")
    if not choices:
        raise UsageError("no kernel to measure")
    return choices


def _patched_tree(choice: Choice, flavour: str, runner: Runner, progress: Progress) -> Tree:
    """The base with what mainline gets too (see stored.BASE_TOPIC), and the patches in order."""
    assert choice.path is not None
    found = linux.fetch(verify=False, runner=runner, progress=progress)
    pristine = linux.pristine(found, runner=runner, progress=progress)
    fixes = stored.render(stored.ours(), pristine, topics=(stored.BASE_TOPIC,), runner=runner)
    patches = patchset.patches(choice.path)
    return buildtree.prepared_tree(
        f"patched-{choice.name}",
        flavour,
        found,
        f"{overlay.overlay_hash(fixes)}-{patchset.content_hash(patches)}",
        lambda base: patchset.applied(patches, base, fixes, runner),
        shown=choice.name,
        runner=runner,
        progress=progress,
    )


def _image(choice: Choice, arch: str, flavour: str) -> BuiltKernel:
    assert choice.path is not None
    head = choice.path.read_bytes()[:4]
    if (head == _EXECUTABLE) != (arch == "um"):
        kind = "an executable" if head == _EXECUTABLE else "a bzImage"
        raise UsageError(f"--kernel {choice.name}: {kind} does not boot as {arch}")
    if arch == "um" and not os.access(choice.path, os.X_OK):
        raise UsageError(f"--kernel {choice.name}: {choice.path} may not be executed")
    return BuiltKernel(choice.name, arch, flavour, choice.path, choice.path.parent, Path(), "")


def get(
    choice: Choice,
    arch: str,
    flavour: str,
    *,
    jobs: int = 0,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> BuiltKernel:
    """The kernel, built if it has to be. Raises what kbuild.build() raises."""
    progress = progress or Silent()
    if choice.kind == "lab":
        return kbuild.build(choice.name, arch, flavour, jobs=jobs, runner=runner, progress=progress)
    if choice.kind == "image":
        return _image(choice, arch, flavour)
    source = choice.path
    assert source is not None
    if choice.kind == "patches":
        extra = patchset.fragments(source)
        kept = buildtree.prepared(lambda: _patched_tree(choice, flavour, runner, progress))
    else:
        extra = []
        target = paths.cache_dir() / "build" / f"tree-{choice.name}"
        kept = usertree.copied(source, target, runner=runner, progress=progress)
    with kept as tree:
        if (tree.path / "mm/vswap/Kconfig").is_file():
            extra = [*config.fragments("vswap", arch, flavour, paths.configs_dir())[-1:], *extra]
        return kbuild.build_in(
            tree,
            choice.name,
            arch,
            flavour,
            extra=extra,
            strict=False,
            jobs=jobs,
            runner=runner,
            progress=progress,
        )
