# SPDX-License-Identifier: GPL-2.0
"""One run in a guest: the demonstration or a program of the user's, followed and reported."""
