# SPDX-License-Identifier: GPL-2.0
"""The checks of vswapctl doctor; CHECKS of each module are functions of a Machine."""
