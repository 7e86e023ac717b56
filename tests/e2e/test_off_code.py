# SPDX-License-Identifier: GPL-2.0
"""Without CONFIG_VSWAP the edited files compile to mainline's code, but for the functions listed here.

``./vswap codediff`` lists them, ``./vswap codediff FUNCTION`` shows how the code of one differs.
"""

from collections.abc import Callable

import pytest

from vswaplab import disasm, paths
from vswaplab.build import BuiltKernel

DIFFERS: dict[str, str] = {}  # function: why


@pytest.mark.kernel("vswap-off", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
def test_code_is_mainlines(built_kernel: Callable[[str, str, str], BuiltKernel]) -> None:
    ours, base = (built_kernel(kernel, "um", "release").dir for kernel in ("vswap-off", "mainline"))
    names = disasm.edited_objects(paths.kernel_dir(), ours)
    assert len(names) > 5, names
    found = {item.function: item.source for item in disasm.differences(names, ours, base)}
    unexplained = sorted(f"{source}: {name}" for name, source in found.items() if name not in DIFFERS)
    assert unexplained == []
    assert sorted(DIFFERS.keys() - found.keys()) == [], "these do not differ (any longer)"
