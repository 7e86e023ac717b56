# SPDX-License-Identifier: GPL-2.0
"""Which lines of ours the tests have run: kernels of the flavour "coverage" count, gcov reads."""
