# SPDX-License-Identifier: GPL-2.0
"""Make the pictures of docs/screenshots.

status.svg and top.svg are drawn from status.txt and top.txt there: what vswapctl wrote to a terminal of 80
columns in a guest on User-Mode Linux. With --record the guest is booted for new ones. demo.png is the page
of docs/demo/record.json, report.png that of docs/bench/quick-um.json; they need Chromium.
"""

import argparse
import contextlib
import io
import logging
import sys
import tempfile
from pathlib import Path

from vswaplab import cli, paths
from vswaplab.build import kbuild
from vswaplab.errors import ToolError, VswapError
from vswaplab.screenshots import browser, record, terminal

log = logging.getLogger("vswap")
TARGET = paths.repo_root() / "docs/screenshots"
# By picture: the words of ./vswap that write its page, and the window in pixels.
PAGES = {
    "demo": (["demo", "--from", "docs/demo/record.json"], (1280, 900)),
    "report": (["report", "docs/bench/quick-um.json"], (1420, 1000)),
}


def recorded() -> dict[str, str]:
    """What vswapctl writes in a guest now."""
    return record.record(kbuild.build("vswap", "um", "release"))


def drawn(source: Path) -> dict[str, str]:
    """The pictures of terminals, by file name, from the recordings in a directory."""
    return {
        f"{name}.svg": terminal.svg(
            (source / f"{name}.txt").read_text(), f"vswapctl {name}", record.COLUMNS, record.ROWS[name]
        )
        for name in record.COMMANDS
    }


def page(name: str, target: Path) -> None:
    """Write the picture of a page."""
    words, (width, height) = PAGES[name]
    with tempfile.TemporaryDirectory() as directory:
        written = Path(directory) / "page.html"
        with contextlib.redirect_stdout(io.StringIO()):  # "report" prints its tables as well
            code = cli.main([*words, "--html", str(written)])
        if code != 0:
            raise ToolError(f"vswap {' '.join(words)} failed: {code}")
        browser.picture(written, width, height, target / f"{name}.png")


def main() -> int:
    """Write all pictures, or those that are named."""
    logging.basicConfig(level=logging.WARNING, format="vswap: %(message)s")
    parser = argparse.ArgumentParser(prog="docs/screenshots/render", description=__doc__)
    parser.add_argument("--record", action="store_true", help="boot a guest for status.txt and top.txt first")
    parser.add_argument("--terminals", action="store_true", help="only status.svg and top.svg")
    parser.add_argument(
        "target", metavar="DIR", type=Path, nargs="?", default=TARGET, help="default: docs/screenshots"
    )
    args = parser.parse_args()
    try:
        if args.record:
            for name, text in recorded().items():
                paths.write_file(args.target / f"{name}.txt", text.encode())
        for name, text in drawn(args.target if args.record else TARGET).items():
            paths.write_file(args.target / name, text.encode())
        for name in () if args.terminals else PAGES:
            page(name, args.target)
    except VswapError as error:
        log.error("%s", error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
