# SPDX-License-Identifier: GPL-2.0
"""swapcheck's check of pages that reclaim may take away while they are looked at."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from vswaplab import paths

if TYPE_CHECKING:
    from tests.workloads.conftest import Program

PARTS = [f"swapcheck/{part}.c" for part in ("region", "content", "worker", "pressure", "report")]
PARTS += [f"common/{part}.c" for part in ("gate", "crew", "json", "reclaim", "util")]


def test_a_page_that_goes_while_it_is_checked(run: Program, tmp_path: Path) -> None:
    """Content, then zeroes, never back: that is no mismatch, whenever it happens."""
    source = Path(__file__).with_name("given_up_race.c")
    program = tmp_path / "given_up_race"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread"]
    subprocess.run(
        ["gcc", *flags, "-Iswapcheck", "-Icommon", "-o", program, source, *PARTS],
        cwd=paths.workloads_dir(),
        check=True,
    )
    ran = run(program, "5000")
    assert ran.code == 0, ran.out + ran.err
