# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: memory is swapped and verified while everything around it changes.

Uses nothing but Python's standard library; run as a module, with the lab in PYTHONPATH.
"""
