# SPDX-License-Identifier: GPL-2.0
"""vswapctl doctor: each finding, and none where nothing is wrong."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran
from vswapctl import doctor
from vswapctl.checks import boot
from vswapctl.commands import doctor as command
from vswapctl.kernel import Kernel

Z = "/sys/module/zswap/parameters"
V = "/sys/kernel/mm/vswap"
VM = "/proc/sys/vm"
Files = Mapping[str, str | int | bytes]
UNUSED = "zswpout 5\nvswap_slot_alloc 0\npswpout 0\n"  # the devices
DEVICELESS = {"/proc/swaps": fakes.SWAPS}
UNIT = "/usr/lib/systemd/system/zramswap.service"
WANTED = "/etc/systemd/system/multi-user.target.wants/zramswap.service"
ZRAM_TOOLS = {UNIT: "[Service]\n", WANTED: ""}
GENERATOR = fakes.ZRAM_GENERATOR
DAEMON = fakes.process(50, "earlyoom", "/system.slice")


def found(root: Path) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in doctor.findings(doctor.examine(Kernel(str(root))))}


def test_nothing(ours: Path, ctl: Ran) -> None:
    code, out, err = ctl(ours, "doctor")
    assert (code, err) == (0, "") and out == "nothing found\n"
    assert ctl(ours, "doctor", "--json") == (0, '{\n  "findings": [],\n  "notes": []\n}\n', "")


@pytest.mark.parametrize(
    ("files", "name", "command"),
    [
        ({f"{Z}/enabled": "N\n"}, "zswap-off", f"echo Y | sudo tee {Z}/enabled"),
        ({f"{V}/mode": "never\n"}, "mode-never", "sudo vswapctl mode auto"),
        ({f"{Z}/compressor": "lz4\n"}, "compressor-missing", "sudo modprobe crypto-lz4"),
        ({**DEVICELESS, f"{Z}/max_pool_percent": 20}, "pool-small", f"echo 50 | sudo tee {Z}/max_pool_percent"),
        ({f"{Z}/max_pool_percent": 0}, "pool-small", f"echo 50 | sudo tee {Z}/max_pool_percent"),
        ({**DEVICELESS, "/proc/meminfo": fakes.meminfo(pool=1900, stored=5000)}, "pool-full",
         f"echo 65 | sudo tee {Z}/max_pool_percent"),
        ({"/proc/cmdline": "quiet zswap.enabled=0\n"}, "cmdline-zswap",
         'sudo kernel-install add "$(uname -r)" "/usr/lib/modules/$(uname -r)/vmlinuz"'),
        ({"/proc/cmdline": "zswap.enabled=0\n", "/proc/sys/kernel/osrelease": "7.3\n", "/boot/vmlinuz-7.3": ""},
         "cmdline-zswap", 'sudo kernel-install add "$(uname -r)" "/boot/vmlinuz-$(uname -r)"'),
        ({"/proc/cmdline": "zswap.enabled=1 zswap.enabled=no\n"}, "cmdline-zswap",
         "sudo sed -i 's/ *zswap\\.enabled=no//' /etc/kernel/cmdline"),
        ({"/proc/cmdline": "zswap.enabled=False zswap.enabled=x\n"}, "cmdline-zswap",
         "sudo sed -i 's/ *zswap\\.enabled=False//' /etc/kernel/cmdline"),
        ({"/proc/cmdline": "zswap.enabled=OF\n"}, "cmdline-zswap",
         "sudo sed -i 's/ *zswap\\.enabled=OF//' /etc/kernel/cmdline"),
        ({"/proc/cmdline": "zswap.enabled=N\n", "/usr/sbin/grubby": ""}, "cmdline-zswap",
         "sudo grubby --update-kernel=ALL --remove-args=zswap.enabled=N"),
        ({"/proc/cmdline": "vswap=never\n", "/etc/default/grub": "", "/usr/sbin/update-grub": ""}, "cmdline-vswap",
         "sudo sed -i 's/ *vswap=never//' /etc/default/grub"),
        ({**GENERATOR, "/usr/lib/systemd/zram-generator.conf": "# x\n[zram0]\nzram-size = ram\n"},
         "zram-generator", "sudo ln -s /dev/null /etc/systemd/zram-generator.conf"),
        ({**GENERATOR, "/etc/systemd/zram-generator.conf.d/a.conf": "[zram1]\n"}, "zram-generator",
         "sudo sed -i '1s/^/#/' /etc/systemd/zram-generator.conf.d/a.conf"),
        ({**GENERATOR, "/proc/cmdline": "systemd.zram=0 systemd.zram=1\n"}, "cmdline-zram",
         "sudo sed -i 's/ *systemd\\.zram=1//' /etc/kernel/cmdline"),
        ({**GENERATOR, "/proc/cmdline": "quiet systemd.zram\n", "/usr/sbin/grubby": ""}, "cmdline-zram",
         "sudo grubby --update-kernel=ALL --remove-args=systemd.zram"),
        (ZRAM_TOOLS, "zram-tools", "sudo systemctl disable --now zramswap.service"),
        ({"/usr/lib/udev/rules.d/30-zram.rules":
          'KERNEL=="zram0", RUN+="/bin/sh -c \'echo N > /sys/module/zswap/parameters/enabled\'"\n'},
         "udev-rule", "sudo ln -s /dev/null /etc/udev/rules.d/30-zram.rules"),
        ({"/etc/tmpfiles.d/z.conf": "w! /sys/module/zswap/parameters/enabled - - - - N\n"}, "tmpfiles",
         "sudo sed -i '1s/^/#/' /etc/tmpfiles.d/z.conf"),
        ({"/proc/swaps": fakes.swaps(("/dev/zram0", "partition", 100, 1, 5))}, "zram-and-zswap",
         "sudo vswapctl drain /dev/zram0"),
        ({"/proc/swaps": fakes.swaps(("/swap it", "file", 100, 0, 5)).replace("swap it", "swap\\040it"),
          "/proc/vmstat": UNUSED}, "swapfile-unused", "sudo vswapctl drain '/swap it'"),
        ({**DEVICELESS, f"{VM}/swappiness": 1}, "swappiness", "sudo sysctl -w vm.swappiness=100"),
        ({f"{VM}/overcommit_memory": 2}, "overcommit", "sudo sysctl -w vm.overcommit_memory=0"),
        ({**DEVICELESS, **DAEMON}, "oom-daemon", "sudo systemctl disable --now earlyoom.service"),
        (fakes.group("/g", memory_swap_max=0), "group-not-swapped",
         f"echo {4096 * fakes.MIB} | sudo tee /sys/fs/cgroup/g/memory.zswap.max"),
        (fakes.group("/g", pool=1, memory_swap_max=0), "group-not-swapped",
         f"echo {4096 * fakes.MIB} | sudo tee /sys/fs/cgroup/g/memory.zswap.max"),
    ],
)  # fmt: skip
def test_finding(ours: Path, ctl: Ran, files: Files, name: str, command: str) -> None:
    """Exactly that, with its command; and both forms of output."""
    fakes.write(ours, files)
    seen = found(ours)
    assert list(seen) == [name]
    assert command in seen[name].commands
    code, out, _ = ctl(ours, "doctor")
    assert code == 1 and f"    {command}\n" in out and out.endswith("1 found\n")
    code, out, _ = ctl(ours, "doctor", "--json")
    assert code == 1 and json.loads(out)["findings"][0]["name"] == name
    for text in seen[name].commands:  # a shell can read them
        subprocess.run(["bash", "-n", "-c", text], check=True)


@pytest.mark.parametrize(
    "files",
    [
        {f"{Z}/enabled": "N\n", f"{Z}/compressor": "lz4\n", "/proc/swaps": fakes.SWAPS, f"{VM}/swappiness": 1},
        {"/proc/crypto": ""},
        {"/proc/cmdline": "zswap.enabled=1 notzswap.enabled=0\n"},
        {"/proc/cmdline": "zswap.enabled=0 zswap.enabled=on\n"},
        {"/proc/cmdline": "zswap.enabled=0 zswap.enabled zswap.enabled=over\n"},
        {"/proc/cmdline": "vswap=never vswap=auto\n"},
        {**GENERATOR, "/usr/lib/systemd/zram-generator.conf": "[zram0]\n", "/etc/systemd/zram-generator.conf": ""},
        {"/etc/systemd/zram-generator.conf": "[zram0]\n", "/proc/cmdline": "systemd.zram=1\n"},
        {**GENERATOR, "/etc/systemd/zram-generator.conf": "[zram0]\n", "/proc/cmdline": "systemd.zram=no\n"},
        {**GENERATOR, "/proc/cmdline": "systemd.zram=9 systemd.zramx\n"},
        {"/usr/lib/udev/rules.d/z.rules": "# echo N > /sys/module/zswap/parameters/enabled\n"},
        {"/usr/lib/udev/rules.d/z.rules": 'RUN+="echo N > /sys/module/zswap/parameters/enabled"\n',
         "/etc/udev/rules.d/z.rules": ""},
        {"/usr/lib/udev/rules.d/z.rules": "RUN+=\"echo Y > /sys/module/zswap/parameters/enabled\", MODE=\"0\"\n"},
        {"/proc/swaps": fakes.swaps(("/swap", "file", 100, 0, 5)), "/proc/vmstat": UNUSED,
         "/sys/power/resume": "259:3\n"},
        {"/proc/swaps": fakes.swaps(("/swap", "file", 100, 5, 5))},
        {"/proc/swaps": fakes.swaps(("/swap", "file", 100, 0, 5)), "/proc/vmstat": "zswpout 5\npswpout 5\n"},
        {"/proc/swaps": fakes.swaps(("/swap", "file", 100, 0, 5)), "/proc/vmstat": "zswpout 0\npswpout 0\n"},
        {"/proc/swaps": fakes.swaps(("/swap\\040(deleted)", "file", 100, 0, 5)), "/proc/vmstat": UNUSED},
        {"/proc/meminfo": fakes.meminfo(pool=1900, stored=5000)},
        {**GENERATOR, "/usr/lib/systemd/zram-generator.conf": "[zram0]\nzram-size = 9\nmount-point = /var/tmp\n"},
        {UNIT: "[Service]\n"},
        {WANTED: ""},
        {**ZRAM_TOOLS, "/etc/systemd/system/zramswap.service": ""},
        DAEMON,
        fakes.group("/g", memory_swap_max=0, memory_zswap_max=4096),
        {f"{VM}/page-cluster": "x\n", f"{VM}/swappiness": "\n"},
    ],
)  # fmt: skip
def test_no_finding(ours: Path, files: Files) -> None:
    fakes.write(ours, files)
    assert set(found(ours)) <= {"zswap-off"} and ("zswap-off" in found(ours)) == (
        files.get(f"{Z}/enabled") == "N\n"
    )


def test_mainline(tmp_path: Path) -> None:
    """zram alone is as it should be, but for readahead; zswap that has written nothing, too."""
    assert list(found(fakes.mainline_zram(tmp_path / "zram"))) == ["page-cluster"]
    fakes.write(tmp_path / "zram", {
        **GENERATOR,
        "/usr/lib/systemd/zram-generator.conf": "[zram0]\n",
        "/proc/cmdline": "zswap.enabled=0\n",
        "/etc/tmpfiles.d/z.conf": "w /sys/module/zswap/parameters/enabled - - - - N\n",
    })  # fmt: skip
    assert list(found(tmp_path / "zram")) == ["page-cluster"]
    zswap = fakes.mainline_zswap(tmp_path / "zswap")
    assert list(found(zswap)) == ["page-cluster"]
    fakes.write(zswap, {f"{VM}/page-cluster": 0, **fakes.group("/g", memory_swap_max=0)})
    assert found(zswap)["group-not-swapped"].commands == ["echo max | sudo tee /sys/fs/cgroup/g/memory.swap.max"]
    fakes.write(zswap, {"/proc/swaps": fakes.swaps(("/dev/zram0", "partition", 1, 0, 1)), **fakes.group("/g")})
    assert found(zswap)["zram-and-zswap"].commands[0] == f"echo N | sudo tee {Z}/enabled"
    assert found(fakes.no_swap(tmp_path / "none")) == {}


def test_zram_and_a_disk_on_mainline(tmp_path: Path) -> None:
    """What is proposed comes to an end: one finding does not undo what another asked for."""
    root = fakes.mainline_zram(tmp_path)
    zram, disk = ("/dev/zram0", "partition", 2048, 200, 100), ("/swapfile", "file", 1024, 0, -2)
    fakes.write(root, {"/proc/swaps": fakes.swaps(zram, disk), f"{VM}/page-cluster": 0})
    assert list(found(root)) == ["zswap-off"]
    fakes.write(root, {f"{Z}/enabled": "Y\n"})
    assert list(found(root)) == ["zram-and-zswap"]
    assert found(root)["zram-and-zswap"].commands == ["sudo vswapctl drain /dev/zram0"]
    fakes.write(root, {"/proc/swaps": fakes.swaps(disk)})
    assert found(root) == {}


def test_only_the_uppermost_groups(ours: Path) -> None:
    for name in ("/g", "/g/a", "/g/a/b", "/g2"):
        fakes.write(ours, fakes.group(name, memory_swap_max=0))
    assert len(found(ours)["group-not-swapped"].commands) == 2


def test_a_group_below_one_that_may_use_zswap(ours: Path) -> None:
    """Each level has to allow it: the remedy for the group above is none for this one."""
    fakes.write(ours, fakes.group("/g", memory_swap_max=0, memory_zswap_max=4096))
    fakes.write(ours, fakes.group("/g/a", memory_swap_max=0))
    assert "for 1 group(s): /g/a;" in found(ours)["group-not-swapped"].text


def test_groups_in_mode_never(ours: Path) -> None:
    """No limit of memory.zswap.max helps then."""
    fakes.write(ours, {f"{V}/mode": "never\n", **fakes.group("/g", memory_swap_max=0, memory_zswap_max=4096)})
    assert found(ours)["group-not-swapped"].commands == ["echo max | sudo tee /sys/fs/cgroup/g/memory.swap.max"]
    fakes.write(ours, DEVICELESS)
    assert "group-not-swapped" not in found(ours)


def test_a_container(ours: Path, ctl: Ran) -> None:
    """What it sees as the root is a group with limits."""
    top = "/sys/fs/cgroup"
    fakes.write(ours, {f"{top}/memory.max": "max\n", f"{top}/memory.swap.max": 0, **fakes.process(9, "sh", "/")})
    assert found(ours)["group-not-swapped"].commands == [
        f"echo {4096 * fakes.MIB} | sudo tee {top}/memory.zswap.max"
    ]
    for words in (("cgroup", "/"), ("why", "9")):
        out = ctl(ours, *words)[1]
        assert "memory.swap.max of / is 0: it is not swapped" in out and "no limit holds" not in out, out
    fakes.write(ours, {f"{top}/memory.swap.current": 90 * fakes.MIB})
    assert 'vswap_group_swap_bytes{group="/"}' in ctl(ours, "export", "--groups", "9")[1]


def commands(root: Path, name: str) -> None:
    """Do to files below a root what a finding proposes to do to files."""
    for text in found(root)[name].commands:
        words = [
            str(root / word[1:]) if word.startswith("/") and word != "/dev/null" else word
            for word in shlex.split(text)[1:]
        ]
        if words[0] in ("sed", "cp", "ln", "mkdir"):
            subprocess.run(words, check=True)


@pytest.mark.parametrize(
    ("name", "file", "over", "text"),
    [
        ("tmpfiles", "/etc/tmpfiles.d/l.conf", "/etc/tmpfiles.d/l.conf", "d /x\nw {off} - - - - 0\nf /y\n"),
        ("tmpfiles", "/usr/lib/tmpfiles.d/l.conf", "/etc/tmpfiles.d/l.conf", "d /x\nw {off} - - - - 0\nf /y\n"),
        ("udev-rule", "/etc/udev/rules.d/l.rules", "/etc/udev/rules.d/l.rules",
         'A=="b", C="d"\nRUN+="echo N > {off}"\nE="f"\n'),
        ("zram-generator", "/etc/systemd/zram-generator.conf", "/etc/systemd/zram-generator.conf",
         "# mine\n[zram0]\nzram-size = ram\n"),
    ],
)  # fmt: skip
def test_what_else_is_in_a_file_stays(ours: Path, name: str, file: str, over: str, text: str) -> None:
    """Nothing is found afterwards, and no line is gone."""
    text = text.format(off="/sys/module/zswap/parameters/enabled")
    fakes.write(ours, {**GENERATOR, file: text})
    (ours / over[1:]).parent.mkdir(parents=True, exist_ok=True)
    commands(ours, name)
    assert found(ours) == {}
    lines = (ours / over[1:]).read_text().splitlines()
    assert [line.removeprefix("#") for line in lines] == [line.removeprefix("#") for line in text.splitlines()]
    if name != "zram-generator":
        assert [line.startswith("#") for line in lines] == [False, True, False]


def test_the_line_of_fstab_that_goes(ours: Path, tmp_path: Path) -> None:
    """The file's own, whatever is in its name."""
    fakes.write(ours, {
        "/proc/swaps": fakes.swaps(("/s.w|p it", "file", 100, 0, 5)).replace("p it", "p\\040it"),
        "/proc/vmstat": UNUSED,
    })  # fmt: skip
    fstab = tmp_path / "fstab"
    fstab.write_text("/s.w|p\\040it none swap\n/sxw|p\\040it none swap\n")
    words = shlex.split(found(ours)["swapfile-unused"].commands[1])
    assert words[0] == "sudo" and words[-1] == "/etc/fstab"
    subprocess.run([*words[1:-1], str(fstab)], check=True)
    assert fstab.read_text() == "/sxw|p\\040it none swap\n"
    assert "hibernate" in found(ours)["swapfile-unused"].text


def test_zram_is_taken_away_before_zswap_is_on_for_good(ours: Path) -> None:
    fakes.write(ours, {"/proc/swaps": fakes.swaps(("/dev/zram0", "partition", 9, 1, 5)), f"{Z}/enabled": "N\n"})
    now, drain, later = found(ours)["zswap-off"].commands
    assert now.startswith("echo Y") and drain == "sudo vswapctl drain /dev/zram0" and "tmpfiles.d" in later


def test_settings_that_the_service_makes(ours: Path, tmp_path: Path) -> None:
    """They are changed where it has them from."""
    conf = tmp_path / "vswap.conf"
    package = Path(__file__).parents[2] / "packaging/vswap-tools/vswap.conf"
    for text in (package.read_text(), "enabled = yes\n"):
        fakes.write(ours, {**DEVICELESS, "/proc/meminfo": fakes.meminfo(pool=1900), "/etc/vswap.conf": text})
        conf.write_text(text)
        later = found(ours)["pool-full"].commands[1].replace("sudo ", "").replace("/etc/vswap.conf", str(conf))
        subprocess.run(["sh", "-c", later], check=True)
        assert [line for line in conf.read_text().splitlines() if line.startswith("max_pool")] == [
            "max_pool_percent = 65"
        ]
        assert len(conf.read_text().splitlines()) <= len(text.splitlines()) + 1


def test_a_sysctl_comes_after_that_of_the_distribution(ours: Path) -> None:
    fakes.write(ours, {**DEVICELESS, f"{VM}/swappiness": 10})
    name = found(ours)["swappiness"].commands[1].rpartition("/")[2]
    assert sorted(["99-sysctl.conf", name])[1] == name


def test_daemon_with_its_remedy(ours: Path) -> None:
    """Found once, and not again when what was proposed has been done."""
    fakes.write(ours, {**DEVICELESS, **fakes.process(50, "systemd-oomd", "/system.slice")})
    assert list(found(ours)) == ["oom-daemon"]
    drop_in = "/etc/systemd/system.control/-.slice.d/50-ManagedOOMMemoryPressure.conf"
    fakes.write(ours, {drop_in: "[Slice]\nManagedOOMMemoryPressure=kill\n"})
    assert found(ours) == {}


@pytest.mark.parametrize("name", ["earlyoom", "nohang"])
def test_daemon_that_needs_a_device(ours: Path, name: str) -> None:
    """Lower limits do not help it; an unused file does, and is not found useless then."""
    fakes.write(ours, {**DEVICELESS, **fakes.process(50, name, "/system.slice")})
    fakes.write(ours, {"/proc/50/cmdline": "earlyoom\0-m\0" + "3,1\0-s\0" + "100,100\0"})
    assert found(ours)["oom-daemon"].commands[0].startswith(f"sudo systemctl disable --now {name}.service")
    file = {"/proc/swaps": fakes.swaps(("/swapfile", "file", 64, 0, -2)), "/proc/vmstat": UNUSED}
    fakes.write(ours, file)
    assert found(ours) == {}


def test_zswap_is_set_for_good(ours: Path) -> None:
    """The second command makes a rule that survives a boot, and that is no finding itself."""
    fakes.write(ours, {f"{Z}/enabled": "N\n"})
    now, later = found(ours)["zswap-off"].commands
    rule = shlex.split(later)[1]
    assert rule == f"w {Z}/enabled - - - - Y" and now.endswith(f"sudo tee {Z}/enabled")
    fakes.write(ours, {f"{Z}/enabled": "Y\n", "/etc/tmpfiles.d/zswap-enabled.conf": rule + "\n"})
    assert found(ours) == {}


@pytest.mark.parametrize("how", ["nohang", "nohang-desktop", "python3"])
def test_nohang_by_any_name(ours: Path, how: str) -> None:
    """Of both its services, which run the same program; installed from source it is one of Python's processes."""
    fakes.write(ours, {**DEVICELESS, **fakes.process(50, how, "/system.slice/nohang-desktop.service")})
    fakes.write(ours, {"/proc/50/cmdline": "python3\0/usr/local/sbin/nohang\0--monitor\0"})
    assert "nohang-desktop.service" in found(ours)["oom-daemon"].commands[0]
    assert "nohang (pid 50)" in found(ours)["oom-daemon"].text
    fakes.write(ours, {"/proc/50/cmdline": "python3\0", "/proc/50/comm": "python3\n"})
    assert found(ours) == {}


def test_the_service_that_runs_is_restarted(ours: Path) -> None:
    """nohang-desktop.service, not nohang.service beside it."""
    (ours / "run/systemd/units").mkdir(parents=True)
    (ours / "run/systemd/units/invocation:dev-vda2.swap").symlink_to("0" * 32)
    fakes.write(ours, fakes.process(50, "nohang", "/system.slice/nohang-desktop.service"))
    assert found(ours)["oom-daemon-early"].commands == ["sudo systemctl restart nohang-desktop.service"]


def without_zswap(root: Path) -> Path:
    """The same machine, its kernel without CONFIG_ZSWAP."""
    shutil.rmtree(root / "sys/module/zswap")
    shutil.rmtree(root / "sys/kernel/debug/zswap", ignore_errors=True)
    return root


def test_no_zswap_in_the_kernel(ours: Path, tmp_path: Path, ctl: Ran) -> None:
    """Found where it would be used; the only thing found. Nobody needs it in front of zram."""
    fakes.write(ours, {"/proc/meminfo": "".join(
        line for line in fakes.meminfo(swap_total=1024).splitlines(True) if not line.startswith("Zswap")
    )})  # fmt: skip
    disk = without_zswap(fakes.mainline_zswap(tmp_path / "disk"))
    for root in (without_zswap(ours), disk):
        seen = found(root)
        assert list(seen) == ["zswap-missing"] and "CONFIG_ZSWAP=y" in seen["zswap-missing"].text
        code, out, err = ctl(root, "doctor")
        assert (code, err) == (1, "") and "    grep CONFIG_ZSWAP= /boot/config-$(uname -r)\n" in out
        code, out, err = ctl(root, "status")
        assert (code, err) == (0, "") and "zswap: not in this kernel" in out and "in zswap" not in out
        assert json.loads(ctl(root, "status", "--json")[1])["zswap"] is None
    assert list(found(without_zswap(fakes.mainline_zram(tmp_path / "zram")))) == ["page-cluster"]


def test_daemon_started_before_swap(ours: Path) -> None:
    """systemd keeps a link for each unit since its start."""
    units = ours / "run/systemd/units"
    units.mkdir(parents=True)
    link = units / "invocation:dev-vda2.swap"
    link.symlink_to("0" * 32)
    fakes.write(ours, fakes.process(50, "systemd-oomd", "/system.slice"))
    assert found(ours)["oom-daemon-early"].commands == ["sudo systemctl restart systemd-oomd.service"]
    os.utime(link, (1000000, 1000000), follow_symlinks=False)  # btime: 10 s before the process
    assert found(ours) == {}


def test_removing_a_boot_parameter(tmp_path: Path) -> None:
    """The sed command does what it says."""
    grub = tmp_path / "grub"
    grub.write_text('GRUB_CMDLINE_LINUX="quiet zswap.enabled=0 ro"\n')
    command = boot.without(Kernel(str(fakes.write(tmp_path, {"/etc/default/grub": ""}))), "zswap.enabled=0")[0]
    words = shlex.split(command.replace("/etc/default/grub", str(grub)))
    assert words[:2] == ["sudo", "sed"]
    subprocess.run(words[1:], check=True)
    assert grub.read_text() == 'GRUB_CMDLINE_LINUX="quiet ro"\n'


def test_a_boot_parameter_in_a_drop_in(tmp_path: Path) -> None:
    """It is removed where it stands, and openSUSE's command makes the menu again."""
    grub, own = "/etc/default/grub", "/etc/default/grub.d/50 cloud.cfg"
    fakes.write(tmp_path, {grub: "", own: "GRUB_CMDLINE_LINUX='zswap.enabled=0'\n"})
    fakes.write(tmp_path, {"/etc/default/grub.d/a.cfg": "zswap.enabled=1\n", "/usr/sbin/grub2-mkconfig": ""})
    removed = f"sudo sed -i 's/ *zswap\\.enabled=0//' '{own}'"
    assert boot.without(Kernel(str(tmp_path)), "zswap.enabled=0") == [removed, f"sudo {boot.GRUB2}"]
    fakes.write(tmp_path, {grub: "GRUB_CMDLINE_LINUX='quiet zswap.enabled=0'\n", "/usr/sbin/update-grub": ""})
    commands = boot.without(Kernel(str(tmp_path)), "zswap.enabled=0")
    assert [shlex.split(command)[-1] for command in commands] == [grub, own, "update-grub"]


def mounted(option: str) -> Files:
    """/proc with an option of its mount."""
    lines = f"proc /proc proc rw,nosuid{option} 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
    return {"/proc/self/mounts": lines}


@pytest.mark.parametrize("option", [",hidepid=2", ",hidepid=invisible", ",gid=4,hidepid=ptraceable"])
def test_processes_that_are_hidden(ours: Path, ctl: Ran, option: str) -> None:
    """A daemon may run there and not be seen: that is said, unless we see all the same."""
    note = "note: processes of others are hidden: daemons that kill were not looked for; needs root\n"
    fakes.write(ours, mounted(option))
    assert ctl(ours, "doctor") == (0, f"nothing found\n{note}", "")
    code, out, err = ctl(ours, "why", "4242")
    assert (code, out) == (3, "") and "(/proc has hidepid): sudo vswapctl why 4242" in err
    fakes.write(ours, fakes.process(1, "systemd", "/init.scope"))
    assert ctl(ours, "doctor") == (0, "nothing found\n", "")
    fakes.write(ours, mounted(",hidepid=off"))
    assert ctl(ours, "doctor") == (0, "nothing found\n", "") and ctl(ours, "why", "4242")[0] == 2


def test_processes_that_may_not_be_read(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hidepid=1: one note for all of them."""
    fakes.write(ours, {**DAEMON, **fakes.process(51, "x", "/"), **mounted(",hidepid=1")})
    read = Kernel.text

    def refuse(kernel: Kernel, name: str) -> str | None:
        if name.startswith("/proc/5"):
            kernel._deny(name)
            return None
        return read(kernel, name)

    monkeypatch.setattr(Kernel, "text", refuse)
    machine = doctor.examine(Kernel(str(ours)))
    assert doctor.findings(machine) == [] and len(machine.kernel.denied) == 2
    assert [note for note in command.notes(machine) if "/proc" in note] == []
    assert len([note for note in command.notes(machine) if "hidden" in note]) == 1


def test_every_machine(machine: Path, ctl: Ran) -> None:
    code, out, err = ctl(machine, "doctor")
    assert code in (0, 1) and err == "" and (code == 0) == ("nothing found" in out)


def test_real_machine(ctl: Ran) -> None:
    """Whatever it is, in whatever state."""
    code, _, err = ctl(Path("/"), "doctor", "--json")
    assert code in (0, 1) and err == ""
