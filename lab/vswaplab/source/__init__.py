# SPDX-License-Identifier: GPL-2.0
"""Getting the kernel source the project is based on."""
