# SPDX-License-Identifier: GPL-2.0
"""What daemons that kill do with a process that grows, with and without a swap device: docs/monitoring.md."""

import re
import signal
from typing import Any

import pytest

from tests.e2e.common import MIB, Boot
from tests.e2e.others import FILLED, HERE, both, machine, needs
from vswaplab.guest import GuestResult

GROW = """
echo 0 > /proc/sys/vm/overcommit_memory
{daemon} > /run/log 2>&1 & daemon=$!
sleep 4
[ -d /proc/$daemon ] || {{ cat /run/log; exit 1; }}
group a
in_group a python3 {filled} {mib} & worker=$!
while [ ! -e /run/ready ] && [ -d /proc/$worker ]; do sleep 0.2; done
# What fits has to be left alone for a while.
[ ! -e /run/ready ] || sleep 8
touch /run/go; wait $worker; echo $? > $RESULTS/code
kill $daemon
keep log /run/log
"""


def grow(boot_guest: Boot, on: dict[str, Any], daemon: str, mib: int, before: str = "") -> GuestResult:
    """A guest in which a process grows to a size while a daemon watches; ``before`` prepares it.

    The kernel itself kills nobody.
    """
    # Mainline warns when a device's table cannot be allocated in reclaim, which goes on without it.
    expected = ("page allocation failure: order:0",) if on["kernel"] == "mainline" else ()
    result = boot_guest(before + GROW.format(daemon=daemon, mib=mib, filled=FILLED), expected=expected, **on)
    assert "log" in result.files, result.output
    assert result.oom_kills == [], result.files["log"]
    return result


def fits(result: GuestResult) -> bool:
    """Whether the process was left alone, and found all of its memory intact; if not, it was killed."""
    code = int(result.files["code"])
    assert code in (0, 128 + signal.SIGTERM, 128 + signal.SIGKILL), result.output
    return code == 0


def swapped(result: GuestResult) -> int:
    """Bytes in zswap or on the device when most were."""
    return result.peak.slots_used * 4096


# By program: the package, and its command.
KILLERS = {
    "earlyoom": ("earlyoom", "{} -r 0"),
    "nohang": ("nohang", "{} --monitor --config /etc/nohang/nohang.conf"),
}
SENT = re.compile(r"(?i)sending (SIGTERM|SIGKILL) to (?:process|the victim)")
killers = pytest.mark.parametrize("program", KILLERS)


def killer(program: str) -> str:
    package, command = KILLERS[program]
    return command.format(needs(program, package))


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@killers
def test_too_early_without_a_device(boot_guest: Boot, program: str) -> None:
    """300 MB, which fit (see "shown"), with next to nothing in zswap."""
    result = grow(boot_guest, machine("none"), killer(program), 300)
    assert SENT.findall(result.files["log"])[:1] == ["SIGTERM"] and not fits(result)
    assert swapped(result) < 8 * MIB


LOWER = """
sed -E 's/^((soft|hard)_threshold_min_mem *=).*/\\1 1 %/' /etc/nohang/nohang.conf > /tmp/nohang.conf
"""


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@killers
def test_lower_limits_are_no_remedy(boot_guest: Boot, program: str) -> None:
    """Available memory falls to nearly 0 before the kernel swaps."""
    command = killer(program).replace("/etc/nohang/", "/tmp/").replace("-r 0", "-r 0 -m 3,1 -s 100,100")
    result = grow(boot_guest, machine("none"), command, 300, LOWER if program == "nohang" else "")
    assert SENT.findall(result.files["log"]) and not fits(result)
    assert swapped(result) < 32 * MIB


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@killers
def test_as_it_should_with_a_small_device(boot_guest: Boot, program: str) -> None:
    """More than fits: the pool of 50 % is full first, and the device nearly so."""
    result = grow(boot_guest, machine("small device"), killer(program), 700)
    assert SENT.findall(result.files["log"]) and not fits(result)
    assert max(sample.stored_bytes for sample in result.samples) > 100 * MIB
    assert result.device_slots_peak * 4096 > 48 * MIB


@pytest.mark.long
@pytest.mark.kernel("mainline", "um", "release")
@killers
def test_waits_for_a_disk(boot_guest: Boot, program: str) -> None:
    """520 MB fit."""
    result = grow(boot_guest, machine("disk"), killer(program), 520)
    assert fits(result) and not SENT.findall(result.files["log"]), result.files["log"]
    assert swapped(result) > 256 * MIB


@pytest.mark.long
@pytest.mark.kernel("mainline", "um", "release")
@killers
def test_kills_when_zram_is_full(boot_guest: Boot, program: str) -> None:
    """By SwapFree; nohang's own limit for zram is off as it comes."""
    result = grow(boot_guest, machine("zram"), killer(program), 900)
    assert SENT.findall(result.files["log"]) and not fits(result)
    assert swapped(result) > 400 * MIB


PSI = """
sed -E -e 's/^(psi_checking_enabled|debug_psi) *=.*/\\1 = True/' \\
  -e 's/^(warning_threshold_min_mem) *=.*/\\1 = 60 %/' /etc/nohang/nohang.conf > /tmp/nohang.conf
"""


@both
@pytest.mark.parametrize("name", ["none", "disk"])
def test_nohang_looks_at_pressure_only_with_a_device(boot_guest: Boot, name: str) -> None:
    """Half of the memory is available, which is below the limit from which on it looks."""
    command = killer("nohang").replace("/etc/nohang/", "/tmp/")
    result = grow(boot_guest, machine(name), command, 140, PSI)
    assert fits(result)
    looked = "PSI full_avg10 value in /proc/pressure/memory" in result.files["log"]
    assert looked == (name == "disk"), result.files["log"]
    assert looked or "Do not measure the value of PSI" in result.files["log"]


# systemd-oomd is told by process 1 what to watch, and wants a bus to give its name to.
OOMD = """
cat > /run/bus.conf << 'END'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
  </policy>
</busconfig>
END
mkdir -p /run/dbus /run/systemd/oom
dbus-daemon --config-file=/run/bus.conf --nofork --nopidfile 2> /dev/null &
python3 {helper} {watched} &
while [ ! -S /run/dbus/system_bus_socket ] || [ ! -S /run/systemd/io.system.ManagedOOM ]; do sleep 0.2; done
"""
SWAP, PRESSURE = "/=ManagedOOMSwap", "/a=ManagedOOMMemoryPressure"


def oomd(watched: str) -> tuple[str, str]:
    """Its command, and what has to be there first; the limits are those of the package."""
    needs("dbus-daemon", "dbus-daemon")
    command = f"env SYSTEMD_LOG_TARGET=console {needs('systemd-oomd', 'systemd-oomd')}"
    return command, OOMD.format(helper=HERE / "managed_oom_in_guest.py", watched=watched)


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
def test_oomd_never_acts_on_swap_without_a_device(boot_guest: Boot) -> None:
    """0 bytes of swap are not less than 10 % of 0 bytes, with more than 90 % of memory in use."""
    command, before = oomd(SWAP)
    result = grow(boot_guest, machine("none"), command, 400, before)
    assert fits(result) and swapped(result) > 150 * MIB
    assert "No swap; memory pressure usage will be degraded" in result.files["log"]
    assert "Killed" not in result.files["log"] and "is more than" not in result.files["log"]


@both
@pytest.mark.parametrize("name", ["small device", "disk"])
def test_oomd_acts_on_swap_with_a_device(boot_guest: Boot, name: str) -> None:
    command, before = oomd(SWAP)
    on = {**machine(name), "swap": "file:160M"} if name == "disk" else machine(name)
    result = grow(boot_guest, on, command, 700, before)
    assert "Killed /a due to memory used" in result.files["log"] and not fits(result)
    assert "No swap" not in result.files["log"]
    assert result.device_slots_peak * 4096 > 48 * MIB


# A group that is above memory.high, and may swap no more: it stalls for most of the time.
STALL = """
{before}
group a; echo 40M > $CG/a/memory.high; echo {limit} > $CG/a/{file}
{daemon} > /run/log 2>&1 & daemon=$!
sleep 4
in_group a python3 {filled} 100 busy & worker=$!
i=0; while [ $i -lt 900 ] && [ -d /proc/$worker ]; do sleep 0.1; i=$((i + 1)); done
[ ! -d /proc/$worker ] || kill -9 $worker
wait $worker; echo $? > $RESULTS/code
kill $daemon
keep log /run/log
"""


@both
@pytest.mark.parametrize("name", ["none", "disk"])
def test_oomd_acts_on_pressure(boot_guest: Boot, name: str) -> None:
    """More than 60 % for 20 seconds, with or without a device."""
    command, before = oomd(PRESSURE)
    file, limit = ("memory.zswap.max", "10M") if name == "none" else ("memory.swap.max", "30M")
    text = STALL.format(before=before, file=file, limit=limit, daemon=command, filled=FILLED)
    result = boot_guest(text, **machine(name))
    assert re.search(r"Killed /a due to memory pressure for /a being \d", result.files["log"]), result.files["log"]
    assert int(result.files["code"]) == 137 and result.oom_kills == []
    assert swapped(result) > 16 * MIB
