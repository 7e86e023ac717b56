# SPDX-License-Identifier: GPL-2.0
"""A picture of a page, by a browser without a screen."""

import shutil
import tempfile
from pathlib import Path

from PIL import Image

from vswaplab.errors import ToolError
from vswaplab.proc import SYSTEM, Runner

NAMES = ("chromium", "chromium-browser", "google-chrome")
COLORS = 128  # enough for these pages, at less than half the size


def program() -> str | None:
    """The browser of this machine, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def picture(page: Path, width: int, height: int, target: Path, *, runner: Runner = SYSTEM) -> None:
    """Write a PNG of the page's upper part. Raises ToolError without a browser, or if it fails."""
    browser = program()
    if browser is None:
        raise ToolError(f"no browser: none of {', '.join(NAMES)} (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory(prefix="vswap-browser-", ignore_cleanup_errors=True) as directory:
        drawn = Path(directory) / "page.png"
        argv = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--force-device-scale-factor=1", f"--user-data-dir={directory}/profile",
            f"--window-size={width},{height}", f"--screenshot={drawn}", page.resolve().as_uri(),
        ]  # fmt: skip
        runner.run(argv, env={"HOME": directory}, timeout=120)
        if not drawn.is_file():
            raise ToolError(f"{browser} made no picture of {page}")
        with Image.open(drawn) as image:
            image.convert("RGB").quantize(COLORS).save(target, optimize=True)
