# SPDX-License-Identifier: GPL-2.0
"""Kernel source trees: what kernel/ adds to the base, and trees with that in them."""
