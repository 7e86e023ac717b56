# SPDX-License-Identifier: GPL-2.0
"""The patch series: patches/ and kernel/ as commits, and commits as patches/ and kernel/."""
