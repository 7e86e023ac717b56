# SPDX-License-Identifier: GPL-2.0
"""A Debian with systemd and both packages: booted in QEMU, put under pressure, and the tools removed again.

Packages and disks are kept in the lab's cache; a first run builds them, which takes half an hour and more.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages.test_kernel_packages import dry_run
from vswaplab import paths
from vswaplab.debian import machine, packages, pressure, root

# The checks themselves cost nothing here, and what protects from a CPU's defects is slow when it is emulated.
APPEND = "mitigations=off"
ZSWAP = "/sys/module/zswap/parameters"
SETTINGS = ("enabled", "max_pool_percent", "shrinker_enabled")


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[machine.Debian]:
    """The machine, with root logged in."""
    reason = root.missing() or root.unreachable()
    if reason:
        pytest.skip(reason)
    made = root.make([packages.kernel(), packages.tools()])
    kernel, _initrd = root.kernel_of(made, "*-vswap")
    argv = machine.qemu(made / "disk", memory=pressure.MEMORY, kernel=kernel, append=APPEND)
    with machine.running(argv, tmp_path_factory.mktemp("qemu")) as debian:
        debian.log_in(1200)
        yield debian


def settings(debian: machine.Debian) -> list[str]:
    """Those of zswap that the service changes."""
    return debian.ok(f"cd {ZSWAP} && cat {' '.join(SETTINGS)}").split()


@pytest.mark.long
def test_a_debian_with_both_packages(booted: machine.Debian) -> None:
    debian = booted
    running = debian.run("systemctl is-system-running --wait", 900)
    failed = debian.ok("systemctl --failed --plain --no-legend")
    assert (running.output, failed) == ("running", ""), debian.ok("systemctl status --no-pager -l --failed")
    assert debian.ok("uname -r").endswith("-vswap")

    # As the package's configuration says, on a machine without a swap device.
    assert debian.ok("systemctl is-active vswap.service") == "active"
    assert settings(debian) == ["Y", "50", "Y"]
    assert len(debian.ok("cat /proc/swaps").splitlines()) == 1
    assert debian.ok("cat /sys/kernel/mm/vswap/mode") == "auto"
    doctor = debian.run("vswapctl doctor")
    assert (doctor.status, doctor.output.splitlines()[0]) == (0, "nothing found"), doctor.output

    passed = pressure.put_on(debian)
    assert passed.verified.status == 0 and "verified" in passed.verified.output, passed.verified.output
    assert passed.status.status == 0 and "virtual swap: mode auto" in passed.status.output
    # What does not fit was in zswap, and nowhere else.
    slots, zswap = passed.facts["virtual_swap"], passed.facts["zswap"]
    assert slots["zswap_bytes"] > pressure.SIZE - pressure.MEMORY, slots
    assert slots["device_bytes"] == 0 and passed.facts["devices"] == []
    assert zswap["ratio"] > 1.5, zswap
    assert debian.complaints() == []

    # A setting that is refused does not keep the service from taking the others back, or from being reloaded.
    debian.ok(
        "sed -i 's/^#compressor =.*/compressor = nosuch/' /etc/vswap.conf && systemctl restart vswap.service"
    )
    assert debian.ok("systemctl is-active vswap.service") == "active" and settings(debian) == ["Y", "50", "Y"]
    assert "compressor: not set to nosuch" in debian.ok("journalctl -u vswap.service -o cat --no-pager")
    debian.ok("systemctl stop vswap.service")
    assert settings(debian) == ["Y", "20", "N"]
    debian.ok("sed -i 's/^compressor =.*/#compressor = zstd/' /etc/vswap.conf")
    debian.ok("systemctl reload-or-restart vswap.service")
    assert settings(debian) == ["Y", "50", "Y"]

    # Removed: as the kernel has it, with what was chosen when it was built.
    debian.ok("DEBIAN_FRONTEND=noninteractive apt-get remove -y vswap-tools", 900)
    assert settings(debian) == ["Y", "20", "N"]
    assert debian.run("vswapctl status").status == 127
    assert debian.run("systemctl is-active vswap.service").output == "inactive"
    assert debian.complaints() == []
    debian.power_off()


# What a distribution has as modules; the root is on a disk whose driver and file system are among them.
MODULES = (
    "EXT4_FS", "VIRTIO_BLK", "SCSI_VIRTIO", "VIRTIO_NET", "ZRAM", "VFAT_FS", "BLK_DEV_LOOP", "BLK_DEV_DM",
    "OVERLAY_FS", "TUN",
)  # fmt: skip


@pytest.mark.long
def test_a_kernel_with_modules(tmp_path: Path) -> None:
    """make deb CONFIG=FILE: image and headers; it boots with the initrd that Debian makes, and swaps."""
    reason = root.missing() or root.unreachable()
    if reason:
        pytest.skip(reason)
    dry_run(tmp_path, "CONFIG=small").check_returncode()
    config = tmp_path / "modular.config"
    small = (tmp_path / "build-small/.config").read_text()
    wanted = "".join(f"CONFIG_{name}=m\n" for name in MODULES)
    config.write_text(f"{small}CONFIG_MODULES=y\nCONFIG_MODULE_UNLOAD=y\n{wanted}")

    debs = packages.with_modules(config)
    made = root.make([*debs, packages.tools()])
    kernel, initrd = root.kernel_of(made, "*-vswap")
    assert initrd is not None
    argv = machine.qemu(made / "disk", memory=pressure.MEMORY, kernel=kernel, initrd=initrd, append=APPEND)
    with machine.running(argv, tmp_path) as debian:
        debian.log_in(1200)
        loaded = {line.split()[0] for line in debian.ok("cat /proc/modules").splitlines()}
        assert {"ext4", "virtio_blk"} <= loaded, loaded
        # What builds a module of one's own looks there.
        debian.ok('test -f "$(readlink -f /lib/modules/$(uname -r)/build)/Module.symvers"')
        debian.ok("modprobe zram && modprobe -r zram")
        passed = pressure.put_on(debian)
        assert passed.verified.status == 0 and "verified" in passed.verified.output, passed.verified.output
        assert passed.facts["virtual_swap"]["zswap_bytes"] > pressure.SIZE - pressure.MEMORY, passed.facts
        assert debian.complaints() == []
        debian.power_off()


@pytest.mark.skipif(bool(root.missing()), reason=root.missing())
def test_interrupted_it_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C while QEMU runs: neither it nor a file of it is left."""
    (tmp_path / "disk").write_bytes(bytes(1 << 20))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = (
        "import pathlib, sys\n"
        "from vswaplab.debian import machine\n"
        "disk, scratch = map(pathlib.Path, sys.argv[1:])\n"
        "with machine.running(machine.qemu(disk, memory=64 << 20), scratch) as debian:\n"
        "    print(debian.process.pid, flush=True)\n"
        "    debian.log_in(600)\n"
    )
    argv = [sys.executable, "-c", script, str(tmp_path / "disk"), str(scratch)]
    env = {**os.environ, "PYTHONPATH": str(paths.repo_root() / "lab")}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            qemu = int(process.stdout.readline())
            time.sleep(1)
            os.kill(qemu, 0)
            process.send_signal(signal.SIGINT)
            assert "KeyboardInterrupt" in process.stderr.read()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(qemu, 0)
    assert list(scratch.iterdir()) == []
