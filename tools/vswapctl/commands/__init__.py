# SPDX-License-Identifier: GPL-2.0
"""The subcommands: vswapctl.commands.NAME has run(args, kernel), which returns the exit code."""
