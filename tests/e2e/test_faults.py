# SPDX-License-Identifier: GPL-2.0
"""Allocations fail while memory is swapped: no page is lost, no kernel complaint."""

from collections.abc import Callable

import pytest

from tests.e2e.common import MIB, Boot, answer, number
from vswaplab.stress import tally

pytestmark = pytest.mark.kernel("vswap", "um", "debug", checkers=True)

# Only allocations of the program and what reclaims for it, without sleeping: tables, zswap objects.
SCRIPT = """
F=/sys/kernel/debug/%s
echo 1 > $F/task-filter; echo 0 > $F/verbose; echo 1 > $F/interval; echo 1000000 > $F/times
[ -e $F/min-order ] && echo 0 > $F/min-order
echo %d > $F/probability
group a; echo 16M > $CG/a/memory.max
cat > /run/job <<'EOF'
echo 1 > /proc/self/make-it-fail
exec swapcheck --mode anon,munmap,churn --size 28M --seconds 4 --zero 10 --random 3 --rewrite 20 \\
  --passes 1 --reclaim --json
EOF
in_group a sh /run/job > $RESULTS/out.json
echo 0 > $F/probability
echo $((1000000 - $(cat $F/times))) > $RESULTS/faults
verify > $RESULTS/verify
settle
"""


@pytest.mark.parametrize(
    ("kind", "percent"), [("failslab", 20), pytest.param("fail_page_alloc", 20, marks=pytest.mark.long)]
)
def test_failing_allocations(
    boot_guest: Boot, record_property: Callable[[str, object], None], kind: str, percent: int
) -> None:
    result = boot_guest(SCRIPT % (kind, percent), mem_bytes=300 * MIB, cpus=2)
    report = answer(result, "out.json")
    assert report["verified"] is True, report
    assert number(result, "faults") > 100
    record_property(f"{tally.FIGURE}{kind} faults", number(result, "faults"))
    assert number(result, "verify") == 0
    assert result.end.slots_used == 0
