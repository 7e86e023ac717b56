# SPDX-License-Identifier: GPL-2.0
"""Guests in which memory is swapped and verified while everything around it changes, and what came of them."""
