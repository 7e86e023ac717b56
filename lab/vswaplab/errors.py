# SPDX-License-Identifier: GPL-2.0
"""Every failure the lab reports, with the exit code the command line gives for it.

Library code raises these; only vswaplab.cli turns them into text and a status.
The text of an error is one line that says what to do.
"""


class VswapError(Exception):
    """Something failed; ``exit_code`` is what the command ends with."""

    exit_code = 1


class UsageError(VswapError):
    """The user gave something that cannot be used: option, size, file, program."""

    exit_code = 2


class SourceError(VswapError):
    """The kernel source could not be fetched or is not what it should be."""


class TreeError(VswapError):
    """A kernel tree could not be made, exported or turned into a series."""


class ConfigError(VswapError):
    """Options that were asked for did not survive the kernel's own configuration."""


class BuildError(VswapError):
    """A compiler or make failed."""


class ToolError(VswapError):
    """A program the lab started is missing, failed or took too long."""


class WorkloadError(VswapError):
    """The workload failed, or its data did not verify."""


class GuestLost(VswapError):
    """The guest ended without saying how its workload ended."""

    exit_code = 3


class GuestTimeout(VswapError):
    """The guest did not end within its time limit and was killed."""

    exit_code = 3
