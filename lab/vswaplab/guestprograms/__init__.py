# SPDX-License-Identifier: GPL-2.0
"""Programs that run in a guest with the host's Python: files that need nothing else, and the package stress."""
