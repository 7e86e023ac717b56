# SPDX-License-Identifier: GPL-2.0
"""Types, the answers of a guest, and pieces of the scripts that run in it."""

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any, Protocol

import pytest

from tests.e2e import applets
from vswaplab.build import workloads
from vswaplab.guest import GuestResult

MIB = 1 << 20


CHECKED_SLOWER = 12  # times as long as on User-Mode Linux what runs on x86-64 with the checkers on may take


def emulated_with_checkers(config: pytest.Config) -> bool:
    """Whether guests are on x86-64 with a debug kernel: far slower than elsewhere, and with more memory."""
    return bool(config.getoption("--on") == ("x86_64", "debug"))


def patience(seconds: float, config: pytest.Config) -> float:
    """How long something may take that may take ``seconds`` on User-Mode Linux."""
    return seconds * (CHECKED_SLOWER if emulated_with_checkers(config) else 1)


def on_x86_64(other: str) -> pytest.MarkDecorator:
    """The test's argument "kernel": virtual swap's release kernel, and in long runs ``other`` as well."""
    kernels = [pytest.param("vswap", marks=pytest.mark.kernel("vswap", "x86_64", "release"))]
    kernels += [pytest.param(other, marks=[pytest.mark.kernel(other, "x86_64", "release"), pytest.mark.long])]
    return pytest.mark.parametrize("kernel", kernels)


class Boot(Protocol):
    """The fixture boot_guest."""

    def __call__(
        self,
        text: str,
        *,
        kernel: str = "vswap",
        arch: str = "um",
        flavour: str = "debug",
        expected: Sequence[str] = (),
        **fields: Any,
    ) -> GuestResult:
        """Boot a guest, run the script in it, and insist on a clean end."""


class NoteOutcomes(Protocol):
    """The fixture note_outcomes."""

    def __call__(
        self, suite: str, setup: str, mainline: Set[str], ours: Set[str], failed: Set[str], why: Mapping[str, str]
    ) -> None:
        """Note which tests of others pass on mainline, and which with virtual swap in a set-up.

        ``failed`` are those that fail on mainline. ``why`` has reasons, as far as they are known.
        """


def answer(result: GuestResult, name: str) -> Any:
    """A JSON file that the script wrote into $RESULTS."""
    return json.loads(result.files[name])


def number(result: GuestResult, name: str) -> int:
    """A file with one number."""
    return int(result.files[name])


def fields(result: GuestResult, name: str) -> dict[str, int]:
    """A file of lines "name number", such as memory.events."""
    pairs = (line.split() for line in result.files[name].splitlines())
    return {key: int(value) for key, value in pairs}


def checked_mode(result: GuestResult, mode: str) -> Any:
    """What swapcheck reports, in MODE.json, of a mode that ran in a group of its own and was verified.

    Its exit code, the invariants that are violated, and what is still charged to the group's swap must
    be 0: the script has them in MODE.code, MODE.verify and MODE.swap.
    """
    report = answer(result, f"{mode}.json")
    assert report["verified"] is True, report
    zeroes = {name: number(result, f"{mode}.{name}") for name in ("code", "verify", "swap")}
    assert not any(zeroes.values()), zeroes
    return report


def nothing_is_left(result: GuestResult) -> bool:
    """Whether, by the script's "left", only living processes had slots at the end."""
    slots, own_kb = map(int, result.files["left"].split())
    return slots * 4 <= own_kb


# Run before every script. group NAME makes a control group, in_group NAME COMMAND... runs in it.
PRELUDE = """
set -u
V=/sys/kernel/mm/vswap Z=/sys/module/zswap/parameters CG=/sys/fs/cgroup
echo +memory > $CG/cgroup.subtree_control 2>/dev/null
group() { mkdir -p $CG/$1; }
in_group() { g=$1; shift; ( echo 0 > $CG/$g/cgroup.procs && exec "$@" ); }
keep() { cat "$2" > $RESULTS/$1; }
# within SECONDS COMMAND...: ends the command then, or later where machines are slower (see script()).
within() { local seconds=$(($1 * SLOWER)); shift; timeout $seconds "$@"; }
# Only debug kernels with virtual swap check its invariants. Without it, slots in use are the device's.
verify() { if [ -e /sys/kernel/debug/vswap/verify ]; then cat /sys/kernel/debug/vswap/verify; else echo 0; fi; }
slots() { if [ -e $V ]; then cat $V/slots_used; else echo $(($(used) / 4)); fi; }
# The swap device (the first, if there are several), and how much of it is in use, in KB.
device() { awk 'NR == 2 { print $1 }' /proc/swaps; }
# The disk for the script, which is behind the one to swap to, if there is one.
scratch() { for d in /dev/ubdc /dev/vdb /dev/ubdb /dev/vda; do [ ! -b $d ] || break; done; echo $d; }
used() { awk 'NR == 2 { print $4 }' /proc/swaps; }
# available PERCENT [KB]: so much of the memory that is available, and so many KB more. Guests on x86-64 have more.
available() { echo $(($(awk '/^MemAvailable/ { print $2 }' /proc/meminfo) * $1 / 100 + ${2:-0}))K; }
# Slots in use, and what living processes (of the guest: its init, the shell) have in them, in KB.
left() { awk -v slots=$(slots) '/^VmSwap:/ { own += $2 } /^nr_swapcached/ { own += 4 * $2 }
  END { print slots, own + 0 }' /proc/[0-9]*/status /proc/vmstat > $RESULTS/left; }
# What was freed goes a moment later; a page that was locked when its process ended stays in the swap
# cache until reclaim comes by, as on mainline.
drop() { for f in $CG/*/memory.reclaim; do echo 64M > $f; done 2>/dev/null; }
settle() {
  i=0
  while [ $i -lt 50 ] && [ "$(slots)" != 0 ]; do
    sleep 0.1; i=$((i+1)); [ $((i % 10)) != 5 ] || drop
  done
}
"""


# hold NAME COMMAND...: the command is swapcheck; it has filled its memory when this returns.
# start NAME GROUP OPTIONS...: the same, in a group. finish NAME: it goes on, verifies and ends.
HELD = """
hold() {
  name=$1; shift
  "$@" --ready-file /run/ready-$name --wait-file /run/go-$name \\
    --json > $RESULTS/$name.json & eval pid_$name=$!
  while [ ! -e /run/ready-$name ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
}
start() { name=$1 group=$2; shift 2; hold $name in_group $group swapcheck "$@"; }
finish() { touch /run/go-$1; eval wait \\$pid_$1; echo $? > $RESULTS/$1.code; }
"""


def script(text: str, slower: int = 1) -> str:
    """A whole script, which finds the programs for guests. It may take ``slower`` times as long for things."""
    programs = ":".join(str(path) for path in (workloads.build(), applets.directory()) if path)
    return f"PATH={programs}:$PATH SLOWER={slower}\n{PRELUDE}{text}"
