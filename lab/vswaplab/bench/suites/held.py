# SPDX-License-Identifier: GPL-2.0
"""What is done around a process that holds its memory: swapoff, looking at what is left, reclaim and refault."""

from collections.abc import Mapping

from vswaplab.bench.published import Posting
from vswaplab.bench.setup import ZSWAP
from vswaplab.bench.suite import FOLIOS_64K, Metric, Room, Suite, Unverified, mb, timed, verified

RECLAIM_TRIES = 20
RESIDENT = 0.02  # of the memory, that may stay: pages on their way to a device, and the program itself
KEPT = 512 << 10  # bytes that may stay where memory is counted

# In the group with the limit, or in one without.
_GROUPED = """group=${CG:-/sys/fs/cgroup/bench}
[ -d $group ] || mkdir $group || fail "no control group"
grouped() { ( echo 0 > $group/cgroup.procs && exec "$@" ); }"""

_RELEASE = """touch /run/go
wait $held
"""


def _hold(runner: str, size: int, options: str = "") -> str:
    """Shell text that goes on when the process has filled its memory, and had it swapped out."""
    return f"""
rm -f /run/ready /run/go
{runner} swapped --mode hold {options} --ready-file /run/ready --wait-file /run/go \\
  --json=$RESULTS/out.json {mb(size)} & held=$!
while [ ! -e /run/ready ]; do
  kill -0 $held 2>/dev/null || fail "the process that holds the memory ended"
  sleep 0.1
done
"""


class Swapoff(Suite):
    """swapoff while a process has everything on the device, filled in random order.

    Its group's limit is lifted first and the machine has memory for all of it: the time is the cost of
    finding the pages, reading and re-pointing them, not of swapping something else out.
    """

    name = "swapoff"
    summary = "swapoff of a device with a process's memory on it, RAM for all of it"
    metrics = (Metric("swapoff", "s"), Metric("rate", "pages/s", lower_is_better=False))
    times = 1.0
    setups = ("disk", "disk-always", "zswap-disk")
    without = ("zswap",)  # no device that could be taken away
    pressures = ("memcg",)

    def script(self, room: Room) -> str:
        """Device slots in use are counted right before."""
        return f"""{_hold("limited", self.working_set(room), "-R")}
device=$(awk 'NR == 2 {{ print $1 }}' /proc/swaps)
[ -n "$device" ] || fail "there is no swap device"
[ ! -e $CG/memory.max ] || echo max > $CG/memory.max
begin
stopwatch --json=$RESULTS/time.json -- swapoff $device || fail "swapoff failed"
finish
{_RELEASE}"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Pages that were swapped out when it began, over its time."""
        found = verified(files)
        seconds = timed(files)["seconds"]
        return {"swapoff": seconds, "rate": found["swapped_bytes"] / 4096 / seconds}


class LeftOver(Suite):
    """The machine's memory that is left when a working set larger than it is swapped out.

    What is gone is the kernel's own, compressed pages, and what describes them: wherever a set-up keeps
    them, and whether or not somebody is charged for them. Nothing that depends on the moment may be left
    in it: pages that were just in use when all was swapped out, page cache that was read before, and
    free pages on the lists of CPUs, which no line of /proc/meminfo has.
    """

    name = "leftover"
    summary = "memory that is left when the working set is swapped out"
    metrics = (
        Metric("free", "MB", lower_is_better=False),
        Metric("available", "MB", lower_is_better=False),
    )
    times = 1.5

    def script(self, room: Room) -> str:
        """Counters of single CPUs are added up before they are read."""
        return f"""
{_GROUPED}
{_hold("grouped", self.working_set(room))}
kept() {{ awk '/^(in)?active_anon/ {{ kept += $2 }} END {{ print kept }}' $group/memory.stat; }}
for try in $(seq {RECLAIM_TRIES}); do
  [ $(kept) -gt {KEPT} ] || break
  echo 4M > $group/memory.reclaim
done 2>/dev/null
echo 1 > /proc/sys/vm/drop_caches; cat /proc/sys/vm/stat_refresh
kept > $RESULTS/kept
cat /proc/meminfo > $RESULTS/meminfo; cat /proc/zoneinfo > $RESULTS/zoneinfo
{_RELEASE}"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Raises Unverified as well when pages of the working set stayed in memory."""
        verified(files)
        if int(files["kept"]) > KEPT:
            raise Unverified(f"{int(files['kept']) >> 10} KB of the working set were not swapped out")
        rows = dict(line.split(":", 1) for line in files["meminfo"].splitlines())
        counts = (line.split() for line in files["zoneinfo"].splitlines())
        lists = sum(int(count[1]) for count in counts if count[:1] == ["count:"]) * 4
        return {
            name: (int(rows[row].split()[0]) + lists) / 1024
            for name, row in (("free", "MemFree"), ("available", "MemAvailable"))
        }


class Refault(Suite):
    """Published: 1 GB that compresses, in a guest of 8 GB, swapped out by memory.reclaim, read back and verified.

    It fits into memory, so that nothing is swapped out while it comes in. An eighth of a small guest would be too
    few pages to time: here it is half of it.
    """

    name = "refault"
    summary = "memory.reclaim, then read all of it back and verify (1 GB in 8 GB)"
    metrics = (
        Metric("reclaim", "s"),
        Metric("refault", "s"),
        Metric("refault rate", "pages/s", lower_is_better=False),
        Metric("major faults", "1/page"),
    )
    times = 0.5
    first = ""  # shell text that runs first

    def script(self, room: Room) -> str:
        """Reclaim goes on in a shell of its own, which is timed."""
        size = self.working_set(room)
        return f"""
{self.first}
{_GROUPED}
cat > /run/reclaim <<'END'
for try in $(seq {RECLAIM_TRIES}); do
  awk '$1 == "anon" {{ exit ($2 > {int(size * RESIDENT)}) }}' $1/memory.stat && exit 0
  echo {size} > $1/memory.reclaim
done 2>/dev/null
exit 0
END
{_hold("grouped", size, "--stay")}
begin
stopwatch --json=$RESULTS/time.json -- sh /run/reclaim $group
grep pgmajfault /proc/vmstat > $RESULTS/faults
{_RELEASE}finish
grep pgmajfault /proc/vmstat >> $RESULTS/faults
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Raises Unverified as well when memory.reclaim left much of it where it was."""
        found, reclaim = verified(files), timed(files)["seconds"]
        out, size = found["swapped_bytes"], found["bytes"]
        if out < size * (1 - 2 * RESIDENT):
            raise Unverified(f"memory.reclaim swapped out {out >> 20} of {size >> 20} MB")
        seconds = found["check_seconds"]
        before, after = (int(line.split()[1]) for line in files["faults"].splitlines())
        return {
            "reclaim": reclaim,
            "refault": seconds,
            "refault rate": out / 4096 / seconds,
            "major faults": (after - before) / (out / 4096),
        }


class LargeRefault(Refault):
    """Published with folios of 64 KB: swapped out whole, and, where the kernel can do that, read back whole."""

    name = "refault-64k"
    summary = "the same with folios of 64 KB (x86_64)"
    arches = ("x86_64",)
    first = FOLIOS_64K
    postings = (Posting("large zswap swap-in RFC v2", ZSWAP, "global", {"refault": 1 - 0.222}, "2026-05-29"),)


SUITES = (Swapoff(), LeftOver(), Refault(), LargeRefault())
