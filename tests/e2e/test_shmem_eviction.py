# SPDX-License-Identifier: GPL-2.0
"""Files of shared memory that go away while reclaim has pages of them in its hands."""

import logging
from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, number

# A huge page whose last page does not compress: zswap is busy with the others before it says no, and the page goes
# back into the file. Slots in use say that it has begun; then the file is removed.
REMOVED = """
mkdir /run/t; mount -t tmpfs -o huge=always,size=64M none /run/t
group a
cat > /run/removed.py <<'EOF'
import json, os, subprocess, sys, time
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, content, enter
PAGES, TURNS = 512, {turns}
enter("a")
text = b"".join(content(page) for page in range(PAGES - 1))
slots = lambda: int(open("/sys/kernel/mm/vswap/slots_used").read())
reclaim = f"while :; do echo 8M > {{os.environ['CG']}}/a/memory.reclaim; done 2>/dev/null"
reclaimer = subprocess.Popen(["sh", "-c", reclaim])
seen = dict(begun=0, changed=0)
for turn in range(TURNS):
    with open("/run/t/file", "wb") as file:
        file.write(text)
        file.write(os.urandom(PAGE))
    until = time.monotonic() + 5
    while slots() < PAGES and time.monotonic() < until:
        pass
    seen["begun"] += slots() >= PAGES
    if turn % 8 == 7:
        seen["changed"] += open("/run/t/file", "rb").read(len(text)) != text
    os.unlink("/run/t/file")
reclaimer.kill()
reclaimer.wait()
json.dump(seen, sys.stdout)
EOF
CG=$CG python3 /run/removed.py > $RESULTS/out.json; echo $? > $RESULTS/code
umount /run/t; verify > $RESULTS/verify; settle; left
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "debug", checkers=True)
def test_a_file_is_removed_while_a_page_of_it_is_refused(boot_guest: Boot) -> None:
    """Its inode is not used any more once it is freed: KASAN would say so."""
    turns = 60
    result = boot_guest(
        REMOVED.format(here=Path(__file__).parent, turns=turns),
        arch="x86_64", mem_bytes=512 * MIB, pool_percent=50, cpus=2, timeout=900.0,
    )  # fmt: skip
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert number(result, "code") == number(result, "verify") == seen["changed"] == 0, seen
    assert seen["begun"] > turns / 4, seen
    assert result.end.slots_used == 0
