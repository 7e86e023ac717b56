# SPDX-License-Identifier: GPL-2.0
"""Instructions by function of a kernel that runs in QEMU, counted by a plugin of it."""
