# SPDX-License-Identifier: GPL-2.0
"""The demonstration as a page: the same work on several machines, recorded, and replayed side by side."""
