# SPDX-License-Identifier: GPL-2.0
"""Programs that run in a guest with the host's Python, each alone, without the rest of the package."""
