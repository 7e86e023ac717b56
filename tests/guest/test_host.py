# SPDX-License-Identifier: GPL-2.0
"""What is said of the host beside a guest's failure."""

import re
import time
from pathlib import Path

from vswaplab.guest.host import HostWatch

BEFORE = "cpu  100 0 50 1000 30 0 5 15 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
AFTER = "cpu  120 0 60 1010 40 0 5 65 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n"


def test_shares_and_the_longest_pause(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    stat.write_text(BEFORE)
    watch = HostWatch(stat)
    watch.look()
    time.sleep(0.3)
    watch.look()
    watch.look()
    stat.write_text(AFTER)
    shares = "host: 10% idle, 10% waiting for I/O, 50% stolen"
    assert re.fullmatch(shares + r", load [\d.]+, \d+\.\d s between two looks at most", said := str(watch))
    assert float(said.split(" s between")[0].split()[-1]) >= 0.3


def test_this_host() -> None:
    assert re.match(r"host: \d+% idle, \d+% waiting for I/O, \d+% stolen", str(HostWatch()))
