# SPDX-License-Identifier: GPL-2.0
"""vswapctl top in a terminal of 80 by 24 in a guest whose memory is short."""

import re

import pytest

from tests.e2e import screen
from tests.e2e.common import MIB, Boot, answer
from tests.e2e.ctl import PROGRAM, PYTHON, in_guest
from tests.e2e.terminal_in_guest import COLUMNS, ROWS

FRAMES = 8
# A process works on more memory than there is, until top has ended.
SCRIPT = f"""
group busy
in_group busy swapcheck --size $(available 100 40960) --text 40 --random 0 --rewrite 20 --passes 200 \\
  --stop-file /run/seen --json > $RESULTS/out.json &
load=$!
while ! grep -q '^zswpout [1-9]' /proc/vmstat && kill -0 $load; do sleep 0.1; done
{in_guest("terminal")} %s "q quits" {FRAMES} \\
  {PYTHON} {PROGRAM} top --interval 0.3 %s > $RESULTS/top.json
touch /run/seen
wait $load
"""


@pytest.mark.parametrize(
    "how", ["q", "SIGINT", *(pytest.param(how, marks=pytest.mark.long) for how in ("ctrl-c", "SIGTERM", "none"))]
)
@pytest.mark.kernel("vswap", "um", "release")
def test_under_pressure(boot_guest: Boot, how: str) -> None:
    """It shows what happens, within its terminal, and leaves that as it was, however it is ended."""
    words = f"--count {FRAMES}" if how == "none" else ""
    result = boot_guest(SCRIPT % (how, words), flavour="release", mem_bytes=112 * MIB, swap="none")
    assert answer(result, "out.json")["verified"] is True
    seen = answer(result, "top.json")
    drawn = seen["text"]
    assert seen["came"] and seen["code"] == (143 if how == "SIGTERM" else 0), drawn[-2000:]
    assert seen["restored"] and screen.left_behind(drawn) == "" and screen.ALTERNATE in drawn, drawn[-200:]
    assert "Traceback" not in drawn and "interrupted" not in drawn
    shown = screen.pictures(drawn.partition(screen.MAIN)[0], ROWS, COLUMNS)
    full = [picture for picture in shown if picture[-1] == "q quits"]
    assert len(full) >= FRAMES - 2, drawn
    for picture in full:
        assert re.match(r"virtual swap: mode auto +zswap: on, ", picture[0]), picture
        assert any(line.startswith("no swap devices") for line in picture), picture
    loaded = re.compile(r"^/busy +\S+ \S+ +[0-9.]+ MB$", re.MULTILINE)
    busy = [text for text in map("\n".join, full) if loaded.search(text)]
    assert len(busy) >= 2, full
    last = "\n".join(full[-1])
    assert loaded.search(last), last
    assert re.search(r"^slots +[0-9.]+ MB: zero .*, zswap [0-9.]+ MB", last, re.MULTILINE), last
    assert re.search(r"^(into|out of) zswap +[1-9][0-9.]* [KM]B/s .*[▁▂▃▄▅▆▇█]", last, re.MULTILINE), last
    assert len({tuple(picture) for picture in full}) > 2  # it is not always the same
