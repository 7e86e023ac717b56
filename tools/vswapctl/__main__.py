# SPDX-License-Identifier: GPL-2.0
"""python3 -m vswapctl"""

import sys

from vswapctl.cli import main

sys.exit(main(sys.argv[1:]))
