# SPDX-License-Identifier: GPL-2.0
"""Large folios come back as large folios, from zswap too. On x86-64: User-Mode Linux has none."""

import logging
from typing import Any

import pytest

from tests.e2e.common import MIB, Boot, answer, fields, number
from tests.e2e.ctl import in_guest
from vswaplab import paths

# 64 KB folios, pushed out whole by their group and then read once. Small pages do not matter.
REFAULT = """
T=/sys/kernel/mm/transparent_hugepage
echo never > $T/enabled; echo %(shmem)s > $T/shmem_enabled
echo always > $T/hugepages-%(size)s/enabled; echo %(shmem)s > $T/hugepages-%(size)s/shmem_enabled
echo 0 > /proc/sys/vm/page-cluster; %(setup)s
group a
in_group a swapcheck --mode %(mode)s --size 96M --zero 5 --random 0 --text 30 --passes 1 --order sequential \\
  --ready-file /run/ready --wait-file /run/go --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
stats() { for name in swpout zswpout swpin; do echo $name $(cat $T/hugepages-%(size)s/stats/$name); done; }
for i in 1 2 3; do echo 128M > $CG/a/memory.reclaim; done 2>/dev/null
%(between)s
vm() { awk '/^(pgmajfault|zswpin|swpin_zero|pswpin) / { print $1, $2 }' /proc/vmstat; }
stats > $RESULTS/before; vm > $RESULTS/vm.before
touch /run/go; wait $pid
stats > $RESULTS/after; vm > $RESULTS/vm.after
[ ! -e /sys/kernel/mm/vswap ] || settle
"""
PLAIN = {"mode": "anon", "shmem": "never", "size": "64kB", "setup": ":", "between": ":"}
FOLIO = 16  # pages

WRITE_BACK = """
echo Y > $Z/shrinker_enabled
for i in $(seq 40); do
  echo 1M > $CG/a/memory.reclaim; sleep 0.1; grep -q 'zswpwb [0-9]\\{4\\}' /proc/vmstat && break
done 2>/dev/null
echo N > $Z/shrinker_enabled
"""
LEAVE = """
echo 1 > /sys/kernel/debug/split_huge_pages
swapoff $(device); echo $? > $RESULTS/swapoff; grep vswap_evacuate /proc/vmstat > $RESULTS/evacuated
"""


def difference(result: object, name: str) -> dict[str, int]:
    """Counters: what was added while the memory was read."""
    before, after = (fields(result, f"{name}{when}") for when in ("before", "after"))  # type: ignore[arg-type]
    return {key: after[key] - before[key] for key in after}


def refault(boot_guest: Boot, kernel: str, **changes: object) -> tuple[dict[str, int], ...]:
    """Run it; the counters before the memory was read, and what was added, of folios and of pages."""
    swap = changes.pop("swap", "file:256M")
    result = boot_guest(
        REFAULT % {**PLAIN, **changes}, kernel=kernel, arch="x86_64", flavour="release", cpus=2,
        mem_bytes=384 * MIB, swap=swap, pool_percent=50,
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True, result.output
    if kernel == "vswap":
        assert (result.end.slots_used, result.end.physical) == (0, 0)
    seen = fields(result, "before"), difference(result, ""), difference(result, "vm.")
    logging.info("%s %s: %s", kernel, changes, seen)
    return seen


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.kernel("mainline", "x86_64", "release")
def test_refault_from_zswap(boot_guest: Boot) -> None:
    """At least eight times fewer faults than mainline has, which reads page by page from zswap."""
    _, _, theirs = refault(boot_guest, "mainline")
    before, folios, ours = refault(boot_guest, "vswap")
    assert before["zswpout"] > 1000, before
    assert folios["swpin"] > 1000 and ours["zswpin"] > 1000 * FOLIO, (folios, ours)
    assert theirs["zswpin"] > 1000 * FOLIO and theirs["pgmajfault"] >= 8 * ours["pgmajfault"], (theirs, ours)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_refault_without_a_device_and_of_shmem(boot_guest: Boot) -> None:
    _, folios, ours = refault(boot_guest, "vswap", swap="none")
    assert folios["swpin"] > 1000 and ours["zswpin"] > 1000 * FOLIO, (folios, ours)
    _, folios, ours = refault(boot_guest, "vswap", swap="none", mode="shm-memfd", shmem="always")
    assert ours["zswpin"] > 1000 * FOLIO and ours["zswpin"] > 8 * ours["pgmajfault"], (folios, ours)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_folios_that_are_in_part_on_a_disk(boot_guest: Boot) -> None:
    """Pages were written back from the middle of folios: no fault waits for the disk because of its neighbours."""
    _, folios, ours = refault(
        boot_guest, "vswap",
        between=WRITE_BACK,
    )  # fmt: skip
    assert ours["pswpin"] > 100 and ours["zswpin"] > 1000, (folios, ours)
    assert ours["pgmajfault"] >= folios["swpin"] + 0.9 * ours["pswpin"], "a folio was read from the disk"


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_folios_that_are_in_part_on_a_synchronous_device(boot_guest: Boot) -> None:
    """The same with a RAM disk: pages of zswap and of the device come back in one folio, by one fault."""
    _, folios, ours = refault(boot_guest, "vswap", between=WRITE_BACK, swap="ram:64M")
    assert ours["pswpin"] > 1000 and ours["zswpin"] > 1000 * FOLIO / 2, (folios, ours)
    assert ours["pswpin"] + ours["zswpin"] > 8 * ours["pgmajfault"], (folios, ours)
    assert folios["swpin"] > 1000, folios


def program(name: str) -> str:
    """A program of the tests that runs in the guest, with what it imports."""
    return f"PYTHONPATH={paths.repo_root()} {in_guest(name)}"


MIXED = """
F=/sys/kernel/debug/fail_make_request; echo 0 > /proc/sys/vm/page-cluster
if [ {others} = failing ]; then
  echo 0 > $F/verbose; echo 1 > $F/interval; echo 0 > $F/times; echo 100 > $F/probability
  echo 1 > /sys/block/ram0/make-it-fail
fi
{program} --folios {folios} --others {others} > $RESULTS/out.json; echo $? > $RESULTS/code; settle
"""


def mixed(boot_guest: Boot, folios: int, others: str, flavour: str) -> dict[str, Any]:
    """Run mixed_in_guest.py: what it found, and whether a read of the device has failed."""
    result = boot_guest(
        MIXED.format(program=program("mixed"), folios=folios, others=others),
        arch="x86_64", flavour=flavour, cpus=2, mem_bytes=512 * MIB, pool_percent=50, mode="always",
        swap="none" if others == "zero" else "ram:64M", expected=["Read-error on swap-device"],
    )  # fmt: skip
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert number(result, "code") == seen["bad"] == 0
    assert result.end.slots_used == 0
    return {**seen, "errors": "Read-error on swap-device" in result.console}


@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize("others", ["zero", "device"])
def test_folios_in_several_places(boot_guest: Boot, others: str) -> None:
    """Pages of zswap, and zero-filled ones or such on a RAM disk, come back in one folio, by one fault."""
    folios, elsewhere = 100, 3
    seen = mixed(boot_guest, folios, others, "release").pop("read")
    # A page that was in use for a moment is not swapped out, and its folio comes back in pieces.
    most = 0.9 * folios
    assert most <= seen["swpin"] <= folios and seen["faults"] <= 1.5 * folios, seen
    assert seen["zswpin"] >= most * (FOLIO - elsewhere), seen
    assert seen["swpin_zero" if others == "zero" else "pswpin"] >= most * elsewhere, seen


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "debug", checkers=True)
@pytest.mark.parametrize("others", ["zero", "device", "failing"])
def test_folios_in_several_places_debug(boot_guest: Boot, others: str) -> None:
    """The same. If one of the pages cannot be read ("failing"), they are read one by one, and nothing is lost."""
    seen = mixed(boot_guest, 100, others, "debug")
    assert (seen["read"]["swpin"] > 90) is (others != "failing") and seen["errors"] is (others == "failing"), seen


UNREAD = """
F=/sys/kernel/debug/fail_make_request; echo 0 > /proc/sys/vm/page-cluster
# The lock of a folio goes to whoever waits for it, not to whoever comes by.
echo 0 > /proc/sys/vm/page_lock_unfairness
group a
in_group a env {program} --folios {folios} --ready-file /run/ready --wait-file /run/go \\
  > $RESULTS/out.json 2> $RESULTS/err & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
{write_back}
echo 0 > $F/verbose; echo 1 > $F/interval; echo 0 > $F/times; echo 100 > $F/probability
echo 1 > /sys/block/ram0/make-it-fail
touch /run/go; wait $pid; echo $? > $RESULTS/code; settle
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "debug", checkers=True)
def test_another_waits_for_a_folio_that_cannot_be_read(boot_guest: Boot) -> None:
    """A page of a large folio of shmem cannot be read, and a second task waits for the folio: nothing is lost."""
    folios = 200
    result = boot_guest(
        UNREAD.format(program=program("unread"), folios=folios, write_back=WRITE_BACK),
        arch="x86_64", flavour="debug", cpus=2, mem_bytes=512 * MIB, pool_percent=50, mode="auto",
        swap="ram:64M", expected=["Read-error on swap-device"],
    )  # fmt: skip
    assert number(result, "code") == 0, result.files["err"]
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert seen["bad"] == seen["child"] == result.end.slots_used == 0
    assert seen["swapped"] > 0.9 * folios and seen["failed"] > folios / 10, seen
    # A folio that was split before is read page by page: the page that fails is lost, and no other.
    assert seen["most"] <= 1 and seen["lost"] <= folios / 10, seen


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize("place", ["zswap", "disk", "both"])
@pytest.mark.parametrize(("mode", "size"), [("anon", "64kB"), ("anon", "2048kB"), ("shm-memfd", "2048kB")])
def test_the_device_goes(boot_guest: Boot, mode: str, size: str, place: str) -> None:
    """Folios that were swapped out whole are where they were, and what was on the device is in memory again.

    A file in shared memory has huge pages of 2 MB as long as there are any; smaller ones cannot be asked for.
    """
    result = boot_guest(
        REFAULT
        % {
            "mode": mode, "size": size, "shmem": "always" if mode != "anon" else "never",
            "setup": "echo always > $V/mode; echo N > $Z/enabled" if place == "disk" else ":",
            "between": (WRITE_BACK if place == "both" else "") + LEAVE,
        },
        arch="x86_64", flavour="release", cpus=2, mem_bytes=384 * MIB, swap="file:256M", pool_percent=50,
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True, result.output
    whole, all_folios = fields(result, "before"), (96 << 10) // int(size.removesuffix("kB"))
    assert whole["swpout" if place == "disk" else "zswpout"] > all_folios / 2, whole
    evacuated = fields(result, "evacuated")["vswap_evacuate"]
    logging.info("%s %s %s: %s, %d pages evacuated", mode, size, place, whole, evacuated)
    assert number(result, "swapoff") == 0 and (evacuated > 500) == (place != "zswap")
    assert (result.end.slots_used, result.end.physical) == (0, 0)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize("swap", ["file:512M", "ram:96M"])
def test_races_of_large_folios(boot_guest: Boot, swap: str) -> None:
    """Swapped out and in, written back, split by partial unmapping and forks, with one slot's fate at a time."""
    result = boot_guest(
        """
T=/sys/kernel/mm/transparent_hugepage
for size in 16kB 64kB 256kB; do echo always > $T/hugepages-$size/enabled; done
echo Y > $Z/shrinker_enabled; echo 0 > /proc/sys/vm/page-cluster
swapcheck --mode anon,fork,dontneed,pageout,mremap,churn --seconds 10 --size 128M --zero 5 --random 5 --text 20 \\
  --rewrite 30 --passes 2 --json > $RESULTS/out.json
cat $T/hugepages-64kB/stats/swpin > $RESULTS/swpin; grep zswpwb /proc/vmstat > $RESULTS/vmstat; settle
""",
        arch="x86_64", flavour="release", cpus=2, mem_bytes=(208 if swap.startswith("ram") else 96) * MIB,
        swap=swap, pool_percent=15, timeout=900.0,
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True, result.output
    assert number(result, "swpin") > 0 and fields(result, "vmstat")["zswpwb"] > 0
    assert (result.end.slots_used, result.end.physical) == (0, 0)


SPARSE = """
echo always > /sys/kernel/mm/transparent_hugepage/enabled
{program} --huge {huge} --small {small} > $RESULTS/out.json; echo $? > $RESULTS/code
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
def test_small_pages_fill_the_holes_that_huge_ones_leave(boot_guest: Boot) -> None:
    """Each huge page leaves one page and with it a cluster's tables: small pages take no clusters of their own."""
    huge, small = 64, 8192
    result = boot_guest(
        SPARSE.format(program=program("sparse"), huge=huge, small=small),
        arch="x86_64", flavour="release", cpus=2, mem_bytes=512 * MIB, swap="none", pool_percent=50,
    )  # fmt: skip
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert number(result, "code") == seen["bad"]["pages"] == 0
    assert seen["huge"]["slots_used"] > 0.8 * huge * 512, seen
    assert seen["freed"]["metadata_bytes"] > 0.8 * seen["huge"]["metadata_bytes"], seen
    assert seen["small"]["slots_used"] > 0.9 * small, seen
    # 16 clusters would be needed for them alone; those that are hints of CPUs may differ.
    assert seen["small"]["metadata_bytes"] < 1.1 * seen["freed"]["metadata_bytes"], seen


FEW_SLOTS = """
echo always > /sys/kernel/mm/transparent_hugepage/enabled
T=/sys/kernel/mm/transparent_hugepage; for f in $T/hugepages-*/enabled; do echo inherit > $f; done
echo {shmem} > $T/shmem_enabled
echo N > $Z/enabled
group a; echo {limit} > $CG/a/memory.swap.max
in_group a swapcheck --mode {mode} --size 24M --hugepage --random 100 --ready-file /run/ready \\
  --wait-file /run/go --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
for i in 1 2 3 4 5 6; do echo 16M > $CG/a/memory.reclaim; done 2>/dev/null
keep swap $CG/a/memory.swap.current
touch /run/go; wait $pid
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.kernel("mainline", "x86_64", "release")
@pytest.mark.parametrize(("kernel", "mode"), [("mainline", "anon"), ("vswap", "anon"), ("vswap", "shm-memfd")])
def test_huge_pages_use_the_last_slots(boot_guest: Boot, kernel: str, mode: str) -> None:
    """A huge page for which the group's limit leaves too few slots is split: some of its pages go."""
    limit = 3 * MIB
    result = boot_guest(
        FEW_SLOTS.format(limit=limit, mode=mode, shmem="always" if mode != "anon" else "never"), kernel=kernel,
        arch="x86_64", flavour="release", cpus=2, mem_bytes=384 * MIB, swap="file:256M", mode="always",
    )  # fmt: skip
    assert answer(result, "out.json")["verified"] is True, result.output
    assert 0.95 * limit <= number(result, "swap") <= limit


UNMAPPED = """
echo 0 > /proc/sys/vm/page-cluster
{program} --kilobytes {kilobytes} --folios {folios} {fork} > $RESULTS/out.json; echo $? > $RESULTS/code
verify > $RESULTS/verify; settle
"""


def unmapped(boot_guest: Boot, kilobytes: int, folios: int, fork: bool, place: str, flavour: str) -> None:
    """Run unmapped_in_guest.py, and look at what it found."""
    run = UNMAPPED.format(
        program=program("unmapped"), kilobytes=kilobytes, folios=folios, fork="--fork" if fork else ""
    )
    result = boot_guest(
        run,
        arch="x86_64", flavour=flavour, cpus=2, mem_bytes=512 * MIB, pool_percent=50, mode="always",
        zswap=place == "zswap", swap="none" if place == "zswap" else "ram:128M",
    )  # fmt: skip
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert number(result, "code") == number(result, "verify") == 0
    assert seen["bad"] == seen["bad, zeroes"] == seen.get("bad, child", 0) == 0, seen
    # Most folios went whole: one of which a page was in use for a moment is split.
    assert seen["swapped"] == seen["pages"] and seen["whole"] >= 0.9 * folios, seen
    assert seen["kept, swapped"] == seen["kept"] < 0.8 * seen["pages"], seen
    if place == "zswap":
        assert seen["slots, whole"] == seen["pages"] == seen.get("slots, child", seen["pages"]), seen
        assert seen["slots, kept"] == seen["kept"], seen
    assert (result.end.slots_used, result.end.physical) == (0, 0)


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "release")
@pytest.mark.parametrize("fork", [False, True], ids=["alone", "fork"])
@pytest.mark.parametrize("place", ["zswap", "device"])
@pytest.mark.parametrize(("kilobytes", "folios"), [(64, 40), (2048, 10)], ids=["64kB", "2048kB"])
def test_parts_are_unmapped_while_swapped_out(
    boot_guest: Boot, kilobytes: int, folios: int, place: str, fork: bool
) -> None:
    """From the ends and the middle of folios: their slots go, at once or with the child, and the rest is intact.

    What a device holds may be in the swap cache for a while: there only the data is looked at.
    """
    unmapped(boot_guest, kilobytes, folios, fork, place, "release")


# A page of each folio does not compress, so that the folio stays when it has been unmapped. Then that page goes.
DEAD = """
group a
cat > /run/dead.py <<'EOF'
import json, os, sys
sys.path.insert(0, "{root}")
from tests.e2e.swapped_pages import MADV_PAGEOUT, PAGE, content, enter
from tests.e2e.unmapped_in_guest import MADV_DONTNEED, SIZES, STATE, Folios, allow, libc
COUNT, KILOBYTES, DEAD = 60, 64, 5
(SIZES / "enabled").write_text("never")
allow(SIZES / f"hugepages-{{KILOBYTES}}kB", "always")
enter("a")
folios = Folios(COUNT, KILOBYTES)
zswap = lambda: int((STATE / "zswap").read_text())
dead = [folio * folios.nr + DEAD for folio in range(COUNT)]
for page in dead:
    folios.put(page, os.urandom(PAGE))
folios.call(libc.madvise, range(len(folios.pages)), MADV_PAGEOUT)
seen = dict(pages=len(folios.pages), unmapped=folios.swapped(folios.pages), refused=zswap())
for page in dead:
    folios.call(libc.madvise, range(page, page + 1), MADV_DONTNEED)
for _ in range(4):
    try:
        open(f"{{os.environ['CG']}}/a/memory.reclaim", "w").write("8M")
    except OSError:
        pass
seen["stored"] = zswap() - seen["refused"]
kept = [page for page in folios.pages if page not in dead]
seen["bad"] = folios.differing(kept) + folios.differing(dead, zero=True)
json.dump(seen, sys.stdout)
EOF
CG=$CG python3 /run/dead.py > $RESULTS/out.json; echo $? > $RESULTS/code
verify > $RESULTS/verify; settle
"""


@pytest.mark.parametrize(
    "flavour",
    [
        pytest.param("release", marks=pytest.mark.kernel("vswap", "x86_64", "release")),
        pytest.param(
            "debug", marks=[pytest.mark.long, pytest.mark.kernel("vswap", "x86_64", "debug", checkers=True)]
        ),
    ],
)
def test_a_refused_page_that_is_gone_frees_the_others(boot_guest: Boot, flavour: str) -> None:
    """An unmapped folio with a page that does not compress and is no longer in use: it is split, the rest goes."""
    result = boot_guest(
        DEAD.format(root=paths.repo_root()),
        arch="x86_64", flavour=flavour, mem_bytes=512 * MIB, pool_percent=50,
    )  # fmt: skip
    seen = answer(result, "out.json")
    logging.info("%s", seen)
    assert number(result, "code") == number(result, "verify") == seen["bad"] == 0, seen
    # The first time the folios are unmapped and stay whole: none of their pages is stored.
    assert seen["unmapped"] >= 0.8 * seen["pages"] and seen["refused"] < 0.2 * seen["pages"], seen
    assert seen["stored"] >= 0.7 * seen["pages"], seen
    assert result.end.slots_used == 0


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "debug", checkers=True)
@pytest.mark.parametrize(("kilobytes", "folios"), [(64, 40), (2048, 5)], ids=["64kB", "2048kB"])
def test_parts_are_unmapped_while_swapped_out_debug(boot_guest: Boot, kilobytes: int, folios: int) -> None:
    """The same, with a child and all checkers."""
    unmapped(boot_guest, kilobytes, folios, True, "zswap", "debug")
