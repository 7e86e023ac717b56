# SPDX-License-Identifier: GPL-2.0
"""CONFIG_VSWAP=n, and where virtual swap is not offered."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.common import MIB, Boot, answer, checked_mode, fields, number, script
from tests.e2e.test_device import ALL_MODES
from tests.e2e.test_modes import MODES
from vswaplab.build import config, kbuild
from vswaplab.guest import GuestSpec, boot
from vswaplab.tree import buildtree

# What makes sense without virtual swap is the same on both.
KERNELS = [
    pytest.param("vswap-off", "debug", marks=pytest.mark.kernel("vswap-off", "um", "debug")),
    pytest.param("mainline", "release", marks=pytest.mark.kernel("mainline", "um", "release")),
]
both = pytest.mark.parametrize(("kernel", "flavour"), KERNELS, ids=["off", "mainline"])


@pytest.mark.parametrize(
    "flavour",
    [
        pytest.param("debug", marks=pytest.mark.kernel("vswap-off", "um", "debug")),
        pytest.param("release", marks=[pytest.mark.kernel("vswap-off", "um", "release"), pytest.mark.long]),
    ],
)
def test_compiled_out(boot_guest: Boot, flavour: str) -> None:
    """The tree without the option boots, shows none of it, and swaps to a device as ever."""
    text = """
[ -e $V ]; echo $? > $RESULTS/sysfs
grep -c vswap /proc/vmstat > $RESULTS/vmstat
swapcheck --size 24M --pageout --passes 1 --json > $RESULTS/out.json
"""
    result = boot_guest(text, kernel="vswap-off", flavour=flavour, swap="file:128M", mode="auto")
    assert result.files["sysfs"].strip() == "1" and result.files["vmstat"].strip() == "0"
    assert answer(result, "out.json")["verified"] is True
    assert result.device_slots_peak > 1000


SWAPS = """
[ -e $V ]; echo $? > $RESULTS/sysfs
grep -c vswap /proc/vmstat > $RESULTS/vmstat
swapcheck --size 128M --text 30 --random 40 --zero 10 --json > $RESULTS/anon.json
swapcheck --mode shm-tmpfs,shm-memfd --size 12M --text 40 --reclaim --passes 1 --json > $RESULTS/shared.json
"""


@pytest.mark.long
def test_zswap_compiled_out(tmp_path: Path) -> None:
    """Virtual swap needs zswap: Kconfig leaves it out as well. The tree swaps to a device as ever."""
    without = tmp_path / "nozswap.config"
    without.write_text("# CONFIG_ZSWAP is not set\n")
    with buildtree.prepared(lambda: buildtree.source_tree("vswap")) as tree:
        built = kbuild.build_in(tree, "vswap", "um", "nozswap", extra=[without], strict=False)
    options = config.parse(built.config.read_text())
    assert [options.get(f"CONFIG_{name}", "n") for name in ("SWAP", "ZSWAP", "VSWAP")] == ["y", "n", "n"]
    result = boot(
        GuestSpec(
            kernel=built, script=script(SWAPS), mem_bytes=96 * MIB, cpus=2,
            swap="file:256M", zswap=False, leak_pause=0,
        )  # fmt: skip
    )
    assert result.clean, result.account
    assert result.files["sysfs"].strip() == "1" and result.files["vmstat"].strip() == "0"
    for name in ("anon", "shared"):
        assert answer(result, f"{name}.json")["verified"] is True
    assert result.device_slots_peak > 5000 and result.swapoff_error is None


WRITE_BACK = """
group a; echo 20M > $CG/a/memory.high
in_group a swapcheck --size 40M --text 40 --ready-file /run/ready --wait-file /run/go --passes 1 \\
  --json > $RESULTS/out.json & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
# A worker writes back, when it gets a CPU.
i=0; while [ $i -lt 50 ] && ! grep -q '^zswpwb [0-9][0-9][0-9]' /proc/vmstat; do sleep 0.2; i=$((i+1)); done
sleep 2.5  # memory.stat may be that old
keep charged $CG/a/memory.swap.current; used > $RESULTS/used
keep stat $CG/a/memory.stat; grep zswpwb /proc/vmstat > $RESULTS/vmstat
touch /run/go; wait $pid
swapcheck --mode shm-tmpfs,shm-memfd --size 6M --text 40 --reclaim --passes 1 --json > $RESULTS/shared.json
"""


@both
def test_zswap_writes_back(boot_guest: Boot, kernel: str, flavour: str) -> None:
    """A small pool in front of a disk; every page has a slot there, whatever holds its data."""
    result = boot_guest(
        WRITE_BACK,
        kernel=kernel, flavour=flavour, mem_bytes=200 * MIB, swap="file:128M", pool_percent=2, timeout=120.0,
    )  # fmt: skip
    for name in ("out", "shared"):
        assert answer(result, f"{name}.json")["verified"] is True
    stat = fields(result, "stat")
    assert stat["zswpout"] > 1000 and stat["zswpwb"] > 100, stat  # without writeback: 0
    assert fields(result, "vmstat")["zswpwb"] >= stat["zswpwb"]
    assert number(result, "charged") > 16 * MIB
    assert abs(number(result, "used") * 1024 - number(result, "charged")) < 64 * 4096
    assert result.swapoff_error is None


LIMITS = """
limited() {  # GROUP: a group whose 12 MB are to be swapped out, as far as that is allowed
  in_group $1 swapcheck --size 12M --text 50 --passes 1 --ready-file /run/ready-$1 --wait-file /run/go-$1 \\
    --json > $RESULTS/$1.json & pid=$!
  while [ ! -e /run/ready-$1 ]; do sleep 0.1; done
  within 5 sh -c "echo 10M > $CG/$1/memory.reclaim" 2>/dev/null
  keep $1.swap $CG/$1/memory.swap.current; keep $1.zswap $CG/$1/memory.zswap.current
  keep $1.stat $CG/$1/memory.stat
  touch /run/go-$1; wait $pid
}
group a; echo 2M > $CG/a/memory.swap.max; limited a
group b; echo 0 > $CG/b/memory.zswap.writeback; limited b
group c; echo 0 > $CG/c/memory.zswap.max; limited c
group d; echo 1M > $CG/d/memory.zswap.max; limited d
group e; echo 0 > $CG/e/memory.swap.max; limited e
"""


@both
def test_limits(boot_guest: Boot, kernel: str, flavour: str) -> None:
    """Of swap, slots that zswap holds the data of included, and of zswap."""
    result = boot_guest(LIMITS, kernel=kernel, flavour=flavour, swap="file:64M", pool_percent=20)
    swap, zswap = ({name: number(result, f"{name}.{what}") for name in "abcde"} for what in ("swap", "zswap"))
    stat = {name: fields(result, f"{name}.stat") for name in "abcde"}
    for name in "abcde":
        assert answer(result, f"{name}.json")["verified"] is True
    assert MIB < swap["a"] <= 2 * MIB
    assert swap["b"] > 5 * MIB and zswap["b"] > MIB and stat["b"]["zswpwb"] == 0
    assert swap["c"] > 5 * MIB and zswap["c"] == 0 and stat["c"]["pswpout"] > 1000
    assert swap["d"] > 5 * MIB and MIB / 2 < zswap["d"] < 2 * MIB
    assert stat["d"]["zswpwb"] + stat["d"]["pswpout"] > 500
    assert swap["e"] == 0 and zswap["e"] == 0 and stat["e"]["zswpout"] == 0


RACE = """
dev=$(device); group a
written() { sed -n 's/^zswpwb //p' /proc/vmstat; }
in_group a swapcheck --mode churn --size 24M --threads 2 --text 70 --seconds $((SLOWER > 3 ? 60 : 10)) \\
  --json > $RESULTS/a.json & a=$!
( while kill -0 $a; do echo 16M > $CG/a/memory.reclaim; sleep 0.05; done ) 2> /dev/null &
n=0; offs=0
while kill -0 $a 2>/dev/null; do
  for c in lz4 lzo; do echo $c > $Z/compressor; sleep 0.1; done
  echo N > $Z/enabled; sleep 0.1; echo Y > $Z/enabled; sleep 0.2
  # The pool needs time to fill after swapoff; how much depends on the machine.
  before=$(written); echo 1 > $Z/max_pool_percent; i=0
  while [ $i -lt 20 ] && [ $(written) -eq $before ]; do sleep 0.1; i=$((i+1)); done
  sleep 0.1; echo 2 > $Z/max_pool_percent
  swapoff $dev && offs=$((offs+1)); swapon $dev; n=$((n+1))
done
wait; echo $n > $RESULTS/rounds; echo $offs > $RESULTS/offs; grep -E 'zswp|pswp' /proc/vmstat > $RESULTS/vmstat
"""


@both
def test_swapoff_and_zswap_change_under_load(
    boot_guest: Boot, kernel: str, flavour: str, pytestconfig: pytest.Config
) -> None:
    result = boot_guest(
        RACE, kernel=kernel, flavour=flavour, cpus=2, swap="file:64M", pool_percent=2, timeout=120.0
    )
    assert answer(result, "a.json")["verified"] is True, (result.files["a.json"], result.oom_kills)
    events = fields(result, "vmstat")
    assert number(result, "rounds") >= 2 and number(result, "offs") >= 1 and result.swapoff_error is None
    elsewhere = pytestconfig.getoption("--on")
    enough = 20 if elsewhere else 100  # with the checkers on, QEMU comes to a third
    assert min(events[name] for name in ("zswpout", "zswpin", "pswpout")) > enough, events
    # QEMU may be too slow to fill the pool between two swapoffs, on mainline as well.
    assert elsewhere or events["zswpwb"] > enough, (number(result, "rounds"), events)


@both
def test_all_modes(boot_guest: Boot, kernel: str, flavour: str) -> None:
    """Every mode of swapcheck, with zswap and without; all that was charged is given back."""
    result = boot_guest(
        ALL_MODES % " ".join(MODES),
        kernel=kernel, flavour=flavour, mem_bytes=300 * MIB, cpus=1, timeout=900.0,
        swap="file:64M", pool_percent=1,
    )  # fmt: skip
    for mode in MODES:
        checked_mode(result, mode)
    assert result.device_slots_peak > 500 and result.swapoff_error is None


# Of either version: $M is where the groups of the memory controller are.
REMOVED = """
M=$CG/memory; [ -d $M ] || M=$CG
mkdir $M/a
( echo 0 > $M/a/cgroup.procs
  exec swapcheck --mode shm-tmpfs --size 24M --text 40 --ready-file /run/ready --wait-file /run/go \
    --json > $RESULTS/out.json ) & pid=$!
while [ ! -e /run/ready ] && kill -0 $pid; do sleep 0.1; done
%(push)s
used > $RESULTS/used; grep zswpout /proc/vmstat > $RESULTS/vmstat
for p in $(cat $M/a/cgroup.procs); do echo $p > $M/cgroup.procs; done
rmdir $M/a; echo $? > $RESULTS/rmdir
touch /run/go; wait $pid; echo $? > $RESULTS/code
"""
PUSH = {
    2: 'within 10 sh -c "echo 20M > $CG/a/memory.reclaim" 2>/dev/null',
    # The first version's: a limit, and nothing charged beyond what memory and swap may have together.
    1: """echo 60M > $M/a/memory.memsw.limit_in_bytes 2>/dev/null
echo 8M > $M/a/memory.limit_in_bytes; keep memory $M/a/memory.usage_in_bytes
keep memsw $M/a/memory.memsw.usage_in_bytes; echo 60M > $M/a/memory.limit_in_bytes""",
}


@both
@pytest.mark.parametrize("cgroup", [2, 1])
def test_group_removed_while_its_pages_are_swapped(
    boot_guest: Boot, kernel: str, flavour: str, cgroup: int
) -> None:
    """A file's pages stay, on the device or in zswap, and are read back intact."""
    result = boot_guest(
        REMOVED % {"push": PUSH[cgroup]},
        kernel=kernel, flavour=flavour, swap="file:64M", pool_percent=20, cgroup=cgroup,
    )  # fmt: skip
    assert number(result, "used") > 12 * 1024 and fields(result, "vmstat")["zswpout"] > 1000
    if cgroup == 1:
        assert number(result, "memory") <= 8 * MIB
        assert 22 * MIB < number(result, "memsw") < 30 * MIB
    assert number(result, "rmdir") == 0 and number(result, "code") == 0
    assert answer(result, "out.json")["verified"] is True and result.swapoff_error is None


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize(
    ("make", "without"),
    [(["ARCH=i386"], ""), (["ARCH=x86_64"], "CONFIG_SWAP"), (["ARCH=x86_64"], "CONFIG_ZSWAP")],
    ids=["32-bit", "no-swap", "no-zswap"],
)
def test_not_offered(tmp_path: Path, make: list[str], without: str) -> None:
    """olddefconfig drops the option where it makes no sense, and keeps it elsewhere."""
    tree = buildtree.source_tree("vswap").path
    wanted = ["CONFIG_MMU", "CONFIG_BLOCK", "CONFIG_SWAP", "CONFIG_ZSWAP", "CONFIG_VSWAP"]

    def offered(names: list[str]) -> bool:
        allnoconfig = tmp_path / "wanted.config"
        allnoconfig.write_text("".join(f"{name}=y\n" for name in names))
        command = ["make", "-s", *make, f"O={tmp_path}", f"KCONFIG_ALLCONFIG={allnoconfig}", "allnoconfig"]
        subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=300)
        return "CONFIG_VSWAP=y" in (tmp_path / ".config").read_text().splitlines()

    if make == ["ARCH=x86_64"]:
        assert offered([*wanted, "CONFIG_64BIT"])
        assert not offered([name for name in wanted if name != without])
    else:
        assert not offered(wanted)
