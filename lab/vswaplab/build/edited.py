# SPDX-License-Identifier: GPL-2.0
"""The compiled code of the base's files that the series edits, ours beside mainline's."""

from pathlib import Path
from typing import NamedTuple

from vswaplab.build import disasm, kbuild
from vswaplab.progress import Progress
from vswaplab.series import stored


class Edited(NamedTuple):
    """Names of objects, as mm/zswap.o, and the directories that have them."""

    names: list[str]
    ours: Path
    base: Path


def objects(kernel: str, arch: str, progress: Progress | None = None) -> Edited:
    """Compile them for the release kernels; of ours nothing more than these. Raises what kbuild.build() raises."""
    base = kbuild.build("mainline", arch, "release", progress=progress).dir
    names = disasm.edited_objects(stored.edited_names(stored.ours()), base)
    return Edited(names, kbuild.build_objects(kernel, arch, "release", names, progress=progress), base)
