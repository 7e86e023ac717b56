# SPDX-License-Identifier: GPL-2.0
"""vswapctl: what swap, zswap and virtual swap do on this machine, and the means to change it."""

VERSION = "0.1.0"
