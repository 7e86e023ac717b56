# SPDX-License-Identifier: GPL-2.0
"""When nothing can be reclaimed, the OOM killer ends it within seconds."""

from pathlib import Path

import pytest

from tests.e2e.common import HELD, MIB, Boot, answer, fields, nothing_is_left, number, patience
from vswaplab.guest import GuestResult

SECONDS = 60.0  # until the first kill, on a loaded machine; alone it takes a tenth of that

# An order-0 GFP_KERNEL allocation fails for a victim of the OOM killer only, when it has used up the
# reserves before it gets to die; the kernel reports that, with or without virtual swap.
VICTIM = ("swapcheck: page allocation failure: order:0, mode:0x",)

# Runs the workload until it is killed for lack of memory, or ends; says how long that took.
UNTIL_KILLED = """
now() {{ read up _ < /proc/uptime; echo $up; }}
now > $RESULTS/started
swapcheck {workload} & pid=$!
while [ -d /proc/$pid ] && grep -q '^oom_kill 0$' /proc/vmstat; do sleep 0.1; done
now > $RESULTS/killed
pkill -9 swapcheck; wait $pid
settle; left
"""


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize(
    ("workload", "pool"),
    [
        ("--size $(available 163) --random 100", 80),
        ("--size $(available 296) --ratio 3", 20),
        ("--size $(available 296) -P 4 --random 40", 40),
    ],
    ids=["incompressible", "pool-full", "four-processes"],
)
def test_no_livelock(boot_guest: Boot, pytestconfig: pytest.Config, workload: str, pool: int) -> None:
    result = boot_guest(
        UNTIL_KILLED.format(workload=workload),
        flavour="release", mem_bytes=160 * MIB, pool_percent=pool, timeout=150.0, cpus=2, expected=VICTIM,
    )  # fmt: skip
    assert "swapcheck" in result.oom_kills
    taken = float(result.files["killed"]) - float(result.files["started"])
    assert taken < patience(SECONDS, pytestconfig)
    assert nothing_is_left(result)


@pytest.mark.kernel("vswap", "um", "debug")
def test_no_livelock_on_the_debug_kernel(boot_guest: Boot) -> None:
    script = "swapcheck --size $(available 193) --random 100; code=$?; settle; left; exit $code"
    result = boot_guest(script, mem_bytes=200 * MIB, expected=VICTIM)
    assert "swapcheck" in result.oom_kills and nothing_is_left(result)


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
def test_without_zswap_it_is_mainline_without_swap(boot_guest: Boot) -> None:
    """The same workload is killed on both, and nothing is swapped."""
    script = "swapcheck --size $(available 163); code=$?; exit $code"
    for kernel in ("vswap", "mainline"):
        result = boot_guest(script, kernel=kernel, flavour="release", mem_bytes=160 * MIB, zswap=False)
        # Another process may be killed before the memory of the first is free, even the shell.
        assert result.oom_kills[0] == "swapcheck" and result.exit_code in (1, 137), result.oom_kills
        assert result.peak.slots_used == 0 and result.peak.zswap == 0


@pytest.mark.kernel("vswap", "um", "release")
def test_what_does_not_compress_stays_and_the_rest_goes(boot_guest: Boot) -> None:
    """A third of the data is random: it stays in memory, intact, and no one is killed."""
    result = boot_guest(
        "swapcheck --size $(available 126) --random 30 --ratio 5 --passes 1; code=$?; settle; left; exit $code",
        flavour="release", mem_bytes=200 * MIB,
    )  # fmt: skip
    assert result.exit_code == 0 and result.oom_kills == []
    assert result.peak.slots_used > 10000 and nothing_is_left(result)


SCORES = """
grep ^MemTotal /proc/meminfo > $RESULTS/total
swapcheck --size $(available 220) --ratio 3 --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json &
pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
worker=$(pgrep -P $pid || echo $pid)
for adj in 0 -900 1000; do
  echo $adj > /proc/$worker/oom_score_adj; echo $adj $(cat /proc/$worker/oom_score) >> $RESULTS/scores
done
echo 0 > /proc/$worker/oom_score_adj; grep VmSwap /proc/$worker/status > $RESULTS/swapped
touch /run/go; wait $pid; echo $? > $RESULTS/code
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_scores_stay_in_their_range_without_a_device(boot_guest: Boot) -> None:
    """A process of twice the memory, most of it in zswap: its score is at most 2000, and its adjustment counts.

    Swap entries are part of a score, so what they name has to be part of what the score is relative to.
    """
    result = boot_guest(SCORES, flavour="release", mem_bytes=160 * MIB, pool_percent=80)
    assert number(result, "code") == 0 and answer(result, "out.json")["verified"] is True
    assert int(result.files["swapped"].split()[1]) > 1.09 * int(result.files["total"].split()[1])
    scores = {int(adj): int(score) for adj, score in map(str.split, result.files["scores"].splitlines())}
    # With all there is, a process has (1000 + 1000 + adjustment) * 2 / 3.
    assert 1000 < scores[0] <= 1334 and scores[-900] <= 734 and 1667 < scores[1000] <= 2000, scores


# a has most memory, b a high adjustment, and their group's limit is reached when all swap space that it may have
# is in use. Its data in zswap is at entries of the device. Before, something else used virtual slots.
AT_ENTRIES = """
swapcheck --size 8M --passes 1 --pageout --ready-file /run/early --wait-file /run/end --text 40 & early=$!
while [ ! -e /run/early ]; do sleep 0.1; done
keep early $V/slots_used; touch /run/end; wait $early
echo never > $V/mode
group a; echo 24M > $CG/a/memory.max; echo 24M > $CG/a/memory.swap.max
in_group a sh -c 'echo 700 > /proc/self/oom_score_adj; echo $$ > /run/b; exec sleep 1000' &
while [ ! -s /run/b ]; do sleep 0.1; done; b=$(cat /run/b)
in_group a swapcheck --size 100M --text 30 & a=$!
i=0
while grep -q '^oom_kill 0$' $CG/a/memory.events && [ $i -lt 600 ]; do
  for pid in $(cat $CG/a/cgroup.procs); do [ $pid = $b ] || echo 0 > /proc/$pid/oom_score_adj; done
  sleep 0.02; i=$((i+1))
done
sleep 0.5; keep mode $V/mode; keep stat $CG/a/memory.stat
grep -q "^$b$" $CG/a/cgroup.procs; echo $? > $RESULTS/b_is_gone; keep events $CG/a/memory.events
kill -9 $a $b; wait
settle
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_data_at_entries_of_devices_counts_once(boot_guest: Boot) -> None:
    """An adjustment is relative to what a group may have, of which swap space with the data in zswap is a part.

    a has 10000 pages or so, 700 of 1000 of what the group may have are 8600. With the data in zswap twice it
    would be 12000, and b, which has nothing, would be killed.
    """
    result = boot_guest(AT_ENTRIES, flavour="release", mem_bytes=256 * MIB, swap="file:200M")
    assert number(result, "early") > 0
    stat = fields(result, "stat")  # of the time up to the kill; nothing was read back after it
    assert stat["zswpout"] - stat["zswpin"] - stat["zswpwb"] > 3000, stat
    assert result.files["mode"].strip() == "never" and fields(result, "events")["oom_kill"] == 1
    assert number(result, "b_is_gone") == 0, result.console[-600:]


# Most of the memory goes out and comes back, and keeps its slots, as nobody needs them.
READ_BACK = """
cat > /run/score.py <<'EOF'
import sys
sys.path.insert(0, "{here}")
from swapped_pages import PAGE, anonymous, fill, holds, page_out
PAGES = 20480
score = lambda: int(open("/proc/self/oom_score").read())
memory = anonymous(PAGES)
fill(memory, range(PAGES))
scores = [score()]
page_out(memory, PAGES * PAGE)
scores.append(score())
assert holds(memory, range(PAGES))
print(*scores, score(), open("/sys/kernel/mm/vswap/slots_used").read())
EOF
python3 /run/score.py > $RESULTS/scores; echo $? > $RESULTS/code
"""


@pytest.mark.kernel("vswap", "um", "release")
def test_pages_in_memory_count_once(boot_guest: Boot) -> None:
    """What a score is relative to has swapped-out pages, but not those in memory that still have virtual slots."""
    text = READ_BACK.format(here=Path(__file__).parent)
    result = boot_guest(text, flavour="release", mem_bytes=160 * MIB, pool_percent=80)
    assert number(result, "code") == 0, result.output
    before, out, after, slots = map(int, result.files["scores"].split())
    # A score is two thirds of 1000 and thousandths of the memory: where there is more, a page counts less.
    shares = [score * 3 / 2 - 1000 for score in (out, before)]
    assert slots > 18000 and shares[0] < 0.85 * shares[1], result.files["scores"]
    assert 0.98 * before <= after <= 1.02 * before, result.files["scores"]


# Whoever is in a group is protected; another comes and takes what it can, until somebody is killed.
PROTECTED = (
    HELD
    + """
join() { ( echo 0 > $1/cgroup.procs && shift && exec "$@" ); }
protect() {  # from a hog: the group's directory, the adjustment, the file that counts kills
  protected=$(cat $1/cgroup.procs)
  for pid in $protected; do echo $2 > /proc/$pid/oom_score_adj; done
  kill -STOP $protected  # so that they do not fault, and are all that is left to kill, while the hog exits
  keep zswap $V/zswap; keep zero $V/zero
  join $1 swapcheck --size 60M --random 100 & hog=$!
  i=0
  while grep -q '^oom_kill 0$' $1/$3 && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done
  sleep 0.5; keep control $1/$3
  kill $hog; wait $hog; kill -CONT $protected
}
"""
)
# Has 64 MB in a group with 24 MB, most of it in zswap.
COMPRESSED = (
    PROTECTED
    + """
M=/sys/fs/cgroup/memory; [ -d $M ] || M=/sys/fs/cgroup
mkdir $M/a; echo 24M > $M/a/memory.limit_in_bytes; echo 200M > $M/a/memory.memsw.limit_in_bytes
hold early join $M/a swapcheck --size 64M --text 30 --passes 1
protect $M/a -900 memory.oom_control; finish early
"""
)
# Has 500 MB of zeroes in a group with 32 MB.
ZEROES = (
    PROTECTED
    + """
group a; echo 32M > $CG/a/memory.max
hold early join $CG/a swapcheck --size 500M --zero 100 --passes 1
protect $CG/a -950 memory.events; finish early
"""
)


def hog_was_killed(result: GuestResult) -> None:
    """It, and not the protected process.

    It may be killed twice, its worker and then what waits for the worker: the kernel does not count a victim
    that is exiting as one that will still free memory, so whoever faults meanwhile invokes the OOM killer again.
    """
    killed = [line for line in result.console.splitlines() if "Killed process" in line]
    assert number(result, "early.code") == 0 and answer(result, "early.json")["verified"] is True, killed
    assert 1 <= fields(result, "control")["oom_kill"] <= 2, killed


@pytest.mark.kernel("vswap", "um", "release")
def test_zswap_counts_for_groups_of_cgroup_v1(boot_guest: Boot) -> None:
    """The adjustment of the protected process is relative to memory and what its group has in zswap."""
    result = boot_guest(COMPRESSED, flavour="release", mem_bytes=256 * MIB, pool_percent=60, cgroup=1)
    assert number(result, "zswap") > 8000
    hog_was_killed(result)


@pytest.mark.kernel("vswap", "um", "release")
def test_zeroes_count_for_groups(boot_guest: Boot) -> None:
    """The adjustment of the protected process is relative to memory and to what is swapped out as zeroes.

    Its score would be some 120,000 pages otherwise, and the hog has less than 8,192.
    """
    result = boot_guest(ZEROES, flavour="release", mem_bytes=256 * MIB)
    assert number(result, "zero") > 100_000
    hog_was_killed(result)
