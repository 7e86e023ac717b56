# SPDX-License-Identifier: GPL-2.0
"""Types of the options that several commands have."""

import argparse


def number(text: str) -> int:
    """A whole number; argparse names the option in the error."""
    try:
        return int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from error
