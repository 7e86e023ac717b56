# SPDX-License-Identifier: GPL-2.0
"""Everything that knew about swap entries: system calls, /proc, migration, exit, hot-plug."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, nothing_is_left, number, on_x86_64

PROGRAM = Path(__file__).with_name("entries_in_guest.py")
PAGES = 512

# zswap, then the device, so that both backings are looked at
BOTH = f"""
group entries
for z in Y N; do
  echo $z > $Z/enabled
  in_group entries python3 {PROGRAM} %s > $RESULTS/$z.json; echo $? >> $RESULTS/codes; verify >> $RESULTS/verify
done
settle
"""


def look(seen: dict[str, Any], zswap: bool) -> None:
    """What must be so wherever the data is. What was written to a device may still be cached."""
    files = seen["proc_files"]
    assert files["swapped"] > PAGES - 32 and files["pagemap"] == files["swapped"], files
    assert not zswap or files["resident"] < 64, files
    assert files["willneed_resident"] > PAGES - 32, files
    assert files["intact"] and not files["total_changed"], files
    assert all(seen["advice"].values()), seen["advice"]
    assert seen["compaction"]["intact"]


@pytest.mark.kernel("vswap", "um", "debug")
def test_what_can_be_seen_of_entries(boot_guest: Boot) -> None:
    result = boot_guest(BOTH % "proc_files advice compaction", swap="file:64M", mode="always", cpus=1)
    assert set(result.files["codes"].split()) == {"0"} == set(result.files["verify"].split())
    for zswap in "YN":
        look(answer(result, f"{zswap}.json"), zswap == "Y")
    assert (result.end.slots_used, result.end.physical) == (0, 0)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_huge_pages_moves_and_hot_plug(boot_guest: Boot) -> None:
    """What only x86-64 has here."""
    result = boot_guest(
        BOTH % "proc_files advice compaction collapse userfaultfd_move"
        + """
swapcheck --mode churn --size 64M --seconds 8 --hugepage --json > $RESULTS/churn.json & pid=$!
n=0
while kill -0 $pid 2>/dev/null; do
  echo 0 > /sys/devices/system/cpu/cpu1/online && n=$((n+1)); sleep 0.3
  echo 1 > /sys/devices/system/cpu/cpu1/online; sleep 0.3
done
echo $n > $RESULTS/offline
swapcheck --size 96M --hugepage --pageout --passes 2 --rewrite 20 --json > $RESULTS/huge.json
settle; left
""".replace("verify", "true"),
        arch="x86_64",
        flavour="release",
        cpus=2,
        mem_bytes=256 * MIB,
        swap="file:256M",
        mode="always",
    )
    for zswap in "YN":
        seen = answer(result, f"{zswap}.json")
        look(seen, zswap == "Y")
        assert seen["compaction"]["migrated"] > 0, seen["compaction"]  # on User-Mode Linux there is no need
        collapse = seen["collapse"]
        assert collapse["intact"] and collapse["error"] == 0 and collapse["out"] > 4 * PAGES - 32, collapse
        move = seen["userfaultfd_move"]
        assert move["intact"] and move["moved"] == PAGES and move["out"] > PAGES - 32
    assert answer(result, "churn.json")["verified"] is True and number(result, "offline") > 3
    assert answer(result, "huge.json")["verified"] is True
    assert nothing_is_left(result)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_large_folios_go_to_a_fragmented_device_in_pieces(boot_guest: Boot) -> None:
    """The device has 128 free runs of 16 slots, and single ones: all folios are written whole."""
    result = boot_guest(
        f"python3 {PROGRAM} fragmented > $RESULTS/out.json; settle; left",
        arch="x86_64",
        flavour="release",
        cpus=2,
        mem_bytes=256 * MIB,
        swap="file:32M",
        mode="always",
        zswap=False,
    )
    seen = answer(result, "out.json")["fragmented"]
    assert seen["intact"] and seen["swapped"] > 4000, seen
    assert seen["swpout"] > 200 and seen["swpout_fallback"] == 0, seen
    assert nothing_is_left(result)


@on_x86_64("vswap-off")
def test_hibernation_finds_room_on_the_device(boot_guest: Boot, kernel: str) -> None:
    result = boot_guest(
        BOTH.replace("verify", "true") % "hibernation" + "left",
        kernel=kernel,
        arch="x86_64",
        flavour="release",
        cpus=2,
        mem_bytes=256 * MIB,
        swap="file:64M",
        mode="always",
    )
    for zswap in "YN":
        seen = answer(result, f"{zswap}.json")["hibernation"]
        assert seen["refused_without_device"] and seen["intact"], seen
        assert seen["got"] == seen["wanted"] > 4000, seen
        before, during, after = seen["used"]
        assert during >= seen["got"] and after <= during - seen["got"] + 64, seen
        # What zswap holds takes no slot on the device, with virtual swap.
        assert (before < 64) == (zswap == "Y" and kernel == "vswap"), seen
    assert nothing_is_left(result)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_memory_goes_offline_under_swapping(boot_guest: Boot) -> None:
    """What is in the swap cache there moves, or is freed: blocks of the movable zone, again and again."""
    result = boot_guest(
        """
swapcheck --mode churn --size 320M --seconds 25 --json > $RESULTS/churn.json & pid=$!
while kill -0 $pid 2>/dev/null; do
  for block in /sys/devices/system/memory/memory*; do
    grep -q Movable $block/valid_zones || continue
    echo offline > $block/state 2>/dev/null || continue
    echo $block >> $RESULTS/offline; sleep 0.3; echo online_movable > $block/state; sleep 0.3
  done
done
settle; left
""",
        arch="x86_64",
        flavour="release",
        cpus=2,
        mem_bytes=640 * MIB,
        swap="file:256M",
        mode="always",
        pool_percent=20,
        extra_cmdline=("movablecore=384M",),
        # A page that is in use at the moment; offlining tries again, or fails with EBUSY.
        expected=["page dumped because: isolation failed", "page dumped because: migration failure"],
    )
    assert answer(result, "churn.json")["verified"] is True
    assert len(result.files["offline"].splitlines()) > 3
    assert nothing_is_left(result)


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
def test_exit_with_a_million_slots(boot_guest: Boot) -> None:
    """4 GB swapped out, nearly all of it zero pages, in 128 MB of memory; then exit."""
    result = boot_guest(
        """
swapcheck --size 4G --zero 100 --passes 1 --ready-file /run/ready --wait-file /run/go \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.2; done
keep used $V/slots_used; keep zero $V/zero
kill -9 $(pidof swapcheck); wait $pid; settle
""",
        flavour="release",
        mem_bytes=256 * MIB,
        timeout=300.0,
    )
    assert number(result, "used") > 900_000 and number(result, "zero") > 900_000
    assert (result.end.slots_used, result.end.zero) == (0, 0)
    # The array stays, 72 bytes for 512 slots; holes may have brought twice the slots into use. Tables go.
    assert result.end.metadata_bytes <= 2 * 72 * number(result, "used") / 512 + (64 << 10)
