# SPDX-License-Identifier: GPL-2.0
"""The patch series: what kernel/ adds, cut as kernel/SERIES says."""
