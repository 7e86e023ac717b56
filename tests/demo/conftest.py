# SPDX-License-Identifier: GPL-2.0
"""A place for the files of the guests that a test boots."""

from tests.guest.conftest import temporary

__all__ = ["temporary"]
