# SPDX-License-Identifier: GPL-2.0
"""One module per subcommand, each with add_arguments(parser) and main(args) -> exit code."""
