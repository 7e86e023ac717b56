# SPDX-License-Identifier: GPL-2.0
"""A Debian of its own in QEMU, with the packages of this project: made, booted, and talked to."""
