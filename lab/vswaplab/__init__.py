# SPDX-License-Identifier: GPL-2.0
"""The lab of a virtual swap space for Linux: fetch, patch, build, boot, test."""
