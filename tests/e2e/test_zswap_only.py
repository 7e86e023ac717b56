# SPDX-License-Identifier: GPL-2.0
"""A group that may use zswap, but no device, on a machine that has one: others' data makes room for it."""

import pytest

from tests.e2e.common import HELD, MIB, Boot, answer, emulated_with_checkers, fields, nothing_is_left, number

# The program is in memory that others pay for: see FULL_SPACE of test_edges.py.
ONLY = (
    HELD
    + """
cp $(command -v swapcheck) /run/; PATH=/run:$PATH
pool() { cat /sys/kernel/debug/zswap/pool_total_size; }
limit() { echo $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024 / 100 * $(cat $Z/max_pool_percent))); }
written() { awk '/^zswpwb/ { print $2 }' /proc/vmstat; }
group only; group other
no_device() { echo 0 > $CG/only/memory.swap.max; echo 1G > $CG/only/memory.zswap.max; }
no_writeback() { echo 0 > $CG/only/memory.zswap.writeback; }
"""
)

# The pool is full for a moment, as its limit is lowered. What the group alone has in it can be written nowhere: it
# stays above the threshold, below which others may store again.
FULL_BEFORE = (
    ONLY
    + """
%s
echo 5 > $Z/accept_threshold_percent
start only only --size 40M --text 40 --passes 2
within 20 sh -c "echo 32M > $CG/only/memory.reclaim" 2> /dev/null
start other other --size 16M --text 40 --passes 1
echo 1 > $Z/max_pool_percent
within 20 sh -c "echo 4M > $CG/other/memory.reclaim" 2> /dev/null
echo 30 > $Z/max_pool_percent
pool > $RESULTS/pool; limit > $RESULTS/limit
keep zswap.before $CG/other/memory.zswap.current
within 20 sh -c "echo 8M > $CG/other/memory.reclaim" 2> /dev/null
keep zswap.other $CG/other/memory.zswap.current; keep swap.other $CG/other/memory.swap.current
echo $(($(cat $CG/only/memory.current) + 16777216)) > $CG/only/memory.max
start more only --size 32M --text 40 --passes 2 --rewrite 20
keep zswap.only $CG/only/memory.zswap.current
finish more; finish only; finish other
keep events $CG/only/memory.events; keep swap.only $CG/only/memory.swap.current
settle; left
"""
)


@pytest.mark.kernel("vswap", "um", "debug")
@pytest.mark.parametrize("limit", ["no_device", "no_writeback"])
def test_pool_that_was_full(boot_guest: Boot, limit: str) -> None:
    """Others go to the device until it is below its threshold. The group has nothing else, and there is room."""
    result = boot_guest(FULL_BEFORE % limit, mem_bytes=256 * MIB, swap="file:128M")
    assert number(result, "limit") // 20 < number(result, "pool") < number(result, "limit") // 2
    # It was full, and is not: what others have swapped out since is on the device.
    assert number(result, "zswap.other") <= number(result, "zswap.before")
    assert number(result, "swap.other") >= 8 * MIB
    assert fields(result, "events")["oom_kill"] == 0, result.files["events"]
    for name in ("only", "more", "other"):
        assert answer(result, f"{name}.json")["verified"] is True
    assert number(result, "zswap.only") > 10 * MIB and number(result, "swap.only") == 0
    assert nothing_is_left(result)


# Others fill most of the pool, and do nothing more: no page of theirs is refused. What the group swaps out then, a
# little at a time, is more than there was room for.
OTHERS_DATA = (
    ONLY
    + """
no_device
start other other --size 80M --text 40 --passes 1
while [ $(pool) -lt $(($(limit) * 95 / 100)) ]; do
  within 20 sh -c "echo 256K > $CG/other/memory.reclaim" 2> /dev/null || break
done
pool > $RESULTS/pool; limit > $RESULTS/limit; written > $RESULTS/before
start only only --size 32M --text 40 --passes 2 --rewrite 20
n=0
while [ $n -lt 1000 ] && [ $(cat $CG/only/memory.zswap.current) -lt 8388608 ]; do
  echo 128K > $CG/only/memory.reclaim || sleep 0.05; n=$((n+1))
done 2> /dev/null
written > $RESULTS/written; keep zswap.only $CG/only/memory.zswap.current
finish only; finish other; keep swap.only $CG/only/memory.swap.current
settle; left
"""
)


@pytest.mark.kernel("vswap", "um", "debug")
def test_data_of_others_makes_room(boot_guest: Boot, pytestconfig: pytest.Config) -> None:
    """It is written to the device when the group has nearly filled the pool: nothing else would begin that.

    Reclaim does not wait for it: a group that fills the rest of the pool faster than the device writes is killed.
    """
    percent = 2 if emulated_with_checkers(pytestconfig) else 7
    result = boot_guest(OTHERS_DATA, mem_bytes=256 * MIB, swap="file:128M", pool_percent=percent, cpus=2)
    assert number(result, "limit") * 9 // 10 < number(result, "pool") < number(result, "limit") < 20 * MIB
    assert number(result, "zswap.only") >= 8 * MIB and number(result, "swap.only") == 0
    assert number(result, "before") == 0 and number(result, "written") * 4096 > 10 * MIB
    assert answer(result, "only.json")["verified"] is True and answer(result, "other.json")["verified"] is True
    assert nothing_is_left(result)
