# SPDX-License-Identifier: GPL-2.0
"""What programs of others show without a swap device and with much in zswap: docs/monitoring.md."""

import re

from tests.e2e.common import MIB, Boot, fields
from tests.e2e.others import FILLED, both, each_machine, installed, machine, meminfo, needs
from vswaplab.guest import GuestResult

# 300 MB of a process, of which about a half are swapped out.

# top of procps 4.0.2 prints no summary without a processor as a PC has one. /tmp and /run are never swapped.
SHOW = """
for n in 0 1; do printf 'processor\\t: %d\\nvendor_id\\t: x\\ncpu MHz\\t: 1000\\n\\n' $n; done > /run/cpuinfo
mount --bind /run/cpuinfo /proc/cpuinfo
echo 0 > /proc/sys/vm/overcommit_memory
{exporter} --web.listen-address=127.0.0.1:9100 --collector.disable-defaults --collector.meminfo \\
  2> /run/exporter.log &
exporter=$!
python3 {filled} 300 & worker=$!
while [ ! -e /run/ready ] && [ -d /proc/$worker ]; do sleep 0.2; done
export TERM=xterm
keep meminfo /proc/meminfo; keep swaps /proc/swaps; keep pressure /proc/pressure/memory
free -m > $RESULTS/free
top -b -n 1 > $RESULTS/top
vmstat -s > $RESULTS/vmstat-s
swapon --show > $RESULTS/swapon; echo $? > $RESULTS/swapon.code
(sleep 5; echo q) | script -qc "stty cols 100 rows 30; {htop} -C" /dev/null > $RESULTS/htop
python3 -c 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:9100/metrics").read().decode())' \\
  > $RESULTS/exporter 2>> /run/exporter.log
keep exporter.log /run/exporter.log; kill $exporter 2> /dev/null
keep status /proc/$worker/status
keep before /proc/vmstat
touch /run/go
# its first line is an average since the start
vmstat -n 1 10 | tail -n +4 > $RESULTS/rates
keep after /proc/vmstat
wait $worker; echo $? > $RESULTS/code
"""

_shown: dict[str, GuestResult] = {}


def shown(boot_guest: Boot, name: str) -> GuestResult:
    """One guest for all programs that show."""
    if name not in _shown:
        exporter = installed("prometheus-node-exporter")
        text = SHOW.format(htop=installed("htop"), exporter=exporter, filled=FILLED)
        result = boot_guest(text, **machine(name))
        assert result.files["code"].strip() == "0", result.output
        memory = meminfo(result)
        if name == "none":
            assert memory["SwapTotal"] == 0 and memory["Zswapped"] > 64 << 10
        _shown[name] = result
    return _shown[name]


@both
@each_machine
def test_free(boot_guest: Boot, name: str) -> None:
    needs("free", "procps")
    text = shown(boot_guest, name).files["free"]
    total, used, left = map(int, re.findall(r"(?m)^Swap: +(\d+) +(\d+) +(\d+)$", text)[0])
    if name == "none":
        assert (total, used, left) == (0, 0, 0)
        # what the pool takes is used memory
        taken = re.findall(r"(?m)^Mem: +(\d+) +(\d+)", text)[0]
        assert int(taken[1]) > int(taken[0]) * 0.85
    else:
        assert total == 511 and used > 50 and abs(total - used - left) <= 1


@both
@each_machine
def test_top(boot_guest: Boot, name: str) -> None:
    needs("top", "procps")
    text = shown(boot_guest, name).files["top"]
    found = re.search(r"(?m)^MiB Swap: +([\d.]+) total, +([\d.]+) free, +([\d.]+) used", text)
    assert found, text[:400]
    total, left, used = map(float, found.groups())
    if name == "none":
        assert (total, left, used) == (0, 0, 0)
    else:
        assert 511 <= total <= 512 and used > 50 and abs(total - left - used) < 1


@both
@each_machine
def test_htop(boot_guest: Boot, name: str) -> None:
    """The bar, without what moves the cursor and gives colours."""
    needs("htop", "htop")
    needs("script", "bsdutils")
    plain = re.sub(r"\x1b(?:\[[\d;?]*[A-Za-z]|\(B)", "", shown(boot_guest, name).files["htop"])
    found = re.search(r"Swp\[[|#\s]*([\d.]+[KMG])/([\d.]+[KMG])\]", plain)
    assert found, plain[:2000]
    if name == "none":
        assert found.groups() == ("0K", "0K")
    else:
        assert found[2] == "512M" and found[1].endswith("M")


@both
@each_machine
def test_vmstat(boot_guest: Boot, name: str) -> None:
    """While the process reads its memory: si and so count pages of devices, zram's among them."""
    needs("vmstat", "procps")
    result = shown(boot_guest, name)
    rows = [list(map(int, line.split())) for line in result.files["rates"].splitlines()]
    used, moved = max(row[2] for row in rows), sum(row[6] + row[7] for row in rows)
    came = fields(result, "after")["zswpin"] - fields(result, "before")["zswpin"]
    if name == "none":
        assert (used, moved) == (0, 0) and came > 1000
        assert re.search(r"(?m)^ +0 K total swap$", result.files["vmstat-s"])
    elif name == "disk":
        assert used > 50 << 10 and moved < came * 4 / 2 and came > 1000
    else:
        assert used > 50 << 10 and moved > 1000


@both
@each_machine
def test_swapon_show(boot_guest: Boot, name: str) -> None:
    """/proc/swaps has no line but its heading, which is what kubelet asks for as well."""
    needs("swapon", "mount")
    result = shown(boot_guest, name)
    lines = result.files["swapon"].splitlines()
    assert result.files["swapon.code"].strip() == "0"
    assert len(lines) == (0 if name == "none" else 2)
    assert len(result.files["swaps"].splitlines()) == (1 if name == "none" else 2)


@both
@each_machine
def test_status_of_a_process(boot_guest: Boot, name: str) -> None:
    """VmSwap is right on all: with what is in RAM, it is the 300 MB."""
    status = dict(re.findall(r"(?m)^(\w+):\s+(\d+) kB$", shown(boot_guest, name).files["status"]))
    swap, memory = int(status["VmSwap"]), int(status["RssAnon"])
    # and what Python has
    assert swap > 50 << 10 and 300 << 10 < swap + memory < 316 << 10


@both
@each_machine
def test_pressure(boot_guest: Boot, name: str) -> None:
    found = re.search(r"(?m)^some .* total=(\d+)$", shown(boot_guest, name).files["pressure"])
    assert found and int(found[1]) > 0


@both
@each_machine
def test_node_exporter(boot_guest: Boot, name: str) -> None:
    """SwapTotal is 0, which a panel that shows percent divides by; zswap is there under names of its own."""
    needs("prometheus-node-exporter", "prometheus-node-exporter")
    result = shown(boot_guest, name)
    metrics = dict(re.findall(r"(?m)^node_memory_(\w+)_bytes (\S+)$", result.files["exporter"]))
    assert metrics, result.files["exporter.log"]
    assert float(metrics["SwapTotal"]) == (0 if name == "none" else 512 * MIB - 4096)
    assert (float(metrics["Zswapped"]) > 64 * MIB) == (name != "zram")
    assert float(metrics["Zswapped"]) > float(metrics["Zswap"]) or name == "zram"
