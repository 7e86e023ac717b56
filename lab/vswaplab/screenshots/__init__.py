# SPDX-License-Identifier: GPL-2.0
"""The pictures of docs/screenshots: vswapctl in a guest, and the two pages that the lab writes."""
