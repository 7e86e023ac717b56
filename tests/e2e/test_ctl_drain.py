# SPDX-License-Identifier: GPL-2.0
"""vswapctl drain of a slow device in a guest: interrupted, it stays in use; in the end all data is right."""

import re

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from tests.e2e.ctl import PRELUDE, PROGRAM, PYTHON, in_guest, said
from tests.e2e.terminal_in_guest import COLUMNS

MOVED = r"[1-9][0-9.]* [KM]B of [0-9.]+ MB \("  # in a line of progress: not "0 B of"
# Each read takes a fifth of a second. The drain is interrupted at its terminal, then by a signal; then the device
# is fast, and the drain is left alone. Mainline looks for a signal only after each process, ours all the time.
SCRIPT = (
    PRELUDE
    + f"""
disk=$(device); swapoff $disk
table() {{ echo "0 $(cat /sys/block/${{disk##*/}}/size) delay $disk 0 $1 $disk 0 0"; }}
table 200 | dmsetup create --noudevsync --noudevrules slow || exit 1
mkswap /dev/dm-0 > /dev/null && swapon /dev/dm-0 || exit 1
drain() {{ {in_guest("terminal")} $1 '{MOVED}' 1 {PYTHON} {PROGRAM} drain /dev/dm-0; }}
look() {{ used > $RESULTS/used.$1; grep -c dm-0 /proc/swaps > $RESULTS/active.$1; }}
echo N > $Z/enabled; filled 48M; echo 32M > $CG/a/memory.reclaim; echo Y > $Z/enabled
look before; said dry ctl drain /dev/dm-0 --dry-run; look dry
drain ctrl-c > $RESULTS/ctrl-c.json; look ctrl-c
drain SIGINT > $RESULTS/SIGINT.json; look SIGINT
dmsetup suspend --noudevsync slow; table 10 | dmsetup load slow; dmsetup resume --noudevsync --noudevrules slow
if [ HOW = terminal ]; then drain none > $RESULTS/none.json; else said plain ctl drain /dev/dm-0; fi
look after; said again ctl drain /dev/dm-0
verified
"""
)


@pytest.mark.parametrize("how", [pytest.param("terminal", marks=pytest.mark.long), "plain"])
@pytest.mark.kernel("vswap", "um", "release")
def test_interrupted_and_done(boot_guest: Boot, how: str) -> None:
    """The last drain has a terminal, or its output goes to a file."""
    script = SCRIPT.replace("HOW", how)
    result = boot_guest(script, flavour="release", swap="file:128M", mode="always")
    used = {name: number(result, f"used.{name}") for name in ("before", "dry", "ctrl-c", "SIGINT")}
    assert used["before"] << 10 > 8 * MIB and abs(used["dry"] - used["before"]) <= 1024
    assert said(result, "dry").code == 0 and "to move; room for" in said(result, "dry").out
    for name in ("ctrl-c", "SIGINT"):
        seen = answer(result, f"{name}.json")
        assert (seen["came"], seen["code"], seen["restored"]) == (True, 130, True), seen
        assert number(result, f"active.{name}") == 1
        assert "/dev/dm-0 is still in use and fully usable, " in seen["text"], seen
        assert seen["text"].endswith("vswapctl: interrupted\r\n") and "Traceback" not in seen["text"]
        shares = [int(share) for share in re.findall(r"\((\d+) %\)", seen["text"])]
        assert shares and shares == sorted(shares) and shares[-1] < 100, shares
        progress = re.findall(r"\r\033\[K([^\r\n\033]*)", seen["text"])
        assert progress and max(map(len, progress)) <= COLUMNS
    assert used["before"] > used["ctrl-c"] > used["SIGINT"] > 0, used  # the second went on where the first ended
    if how == "terminal":
        done = answer(result, "none.json")
        code, text = done["code"], done["text"]
    else:
        code, text, _ = said(result, "plain")
        assert "\033" not in text and "\r" not in text
    assert code == 0 and re.search(r"/dev/dm-0 is no swap device any longer, after \d+ s", text), text
    assert number(result, "active.after") == 0
    again = said(result, "again")
    assert again.code == 2 and "no active swap device; there are: none" in again.err
    assert answer(result, "out.json")["verified"] is True
