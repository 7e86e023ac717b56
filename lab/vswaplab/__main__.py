# SPDX-License-Identifier: GPL-2.0
"""``python -m vswaplab`` is ``./vswap``."""

from vswaplab.cli import entry

entry()
