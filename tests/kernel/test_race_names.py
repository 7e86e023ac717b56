# SPDX-License-Identifier: GPL-2.0
"""The lab takes a data race for one of virtual swap by names of functions: those in the sources."""

import re

from tests.kernel import layers
from vswaplab import paths
from vswaplab.guest import races

SOURCES = paths.kernel_dir() / "mm/vswap"
# By a macro: VSWAP_ATTR_RO(zero, ...) is a function zero_show().
MADE = re.compile(r"^VSWAP_ATTR_RO\((\w+),", re.MULTILINE)


def functions() -> set[str]:
    """All functions of mm/vswap/, those of its headers included; KUnit's tests are not."""
    found = set()
    for path in SOURCES.glob("*.[ch]"):
        text = path.read_text()
        found |= {f"{name}_show" for name in MADE.findall(text)}
        found |= set(layers.functions(text))
    return found


def test_all_functions_are_known() -> None:
    assert {"vswap_grow", "vswap_prepare_alloc", "mode_store", "zero_show", "swap_is_virtual"} <= functions()
    assert {name for name in functions() if not races.is_ours(name)} == set()


def test_others_are_not() -> None:
    known = "swap_writeout zswap_store folio_alloc_swap shmem_writeout swap_info_get si_swapinfo enabled_show"
    assert [name for name in known.split() if races.is_ours(name)] == []
