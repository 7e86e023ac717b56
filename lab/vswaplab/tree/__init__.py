# SPDX-License-Identifier: GPL-2.0
"""Kernel source trees: what differs from the base, and trees with that in them."""
