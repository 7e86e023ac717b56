# SPDX-License-Identifier: GPL-2.0
"""Building: kernels, their configuration, what was compiled, the programs that run in a guest."""
