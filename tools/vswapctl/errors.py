# SPDX-License-Identifier: GPL-2.0
"""Every failure that is reported, with the exit code of the command line for it.

The text of an error is one line that says what to do.
"""

OK = 0
FAILED = 1
USAGE = 2
CANNOT_READ = 3
# vswap.service takes it for success. Not 1, with which Python ends for what nobody caught.
PARTLY = 4
INTERRUPTED = 130
READER_GONE = 141


class CtlError(Exception):
    """What was asked for was refused, or failed."""

    exit_code = FAILED


class PartlyDone(CtlError):
    """Some of what was asked for was refused or failed; the rest was done, and can be taken back."""

    exit_code = PARTLY


class UsageError(CtlError):
    """The user named something that is not there or cannot be used."""

    exit_code = USAGE


class CannotRead(CtlError):
    """A file of the kernel, or something else that is needed, is missing or not permitted."""

    exit_code = CANNOT_READ
