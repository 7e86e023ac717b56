# SPDX-License-Identifier: GPL-2.0
"""vswapctl setup: from a configuration file to the kernel's files, and back."""

import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools import fakes
from tests.tools.conftest import Ran
from vswapctl import bootconf, errors
from vswapctl.kernel import Kernel
from vswaplab import paths

ZSWAP = "/sys/module/zswap/parameters"
Files = Mapping[str, str | int | bytes]
GENERATOR, ZRAM0 = fakes.ZRAM_GENERATOR, "[zram0]\n"
CONF = """\
enabled = yes
compressor = lzo  # fast
max_pool_percent = 60
shrinker_enabled = on
accept_threshold_percent =
"""


def values(root: Path) -> dict[str, str | None]:
    """What the kernel's files say."""
    kernel = Kernel(str(root))
    return {name: kernel.word(file) for name, file in bootconf.FILES.items()}


@pytest.fixture
def off(ours: Path) -> Path:
    """Virtual swap, zswap off, and a configuration."""
    return fakes.write(ours, {**fakes.zswap("N"), "/etc/vswap.conf": CONF})


def test_sets_what_differs_and_takes_it_back(ctl: Ran, off: Path) -> None:
    before = values(off)
    code, out, err = ctl(off, "setup")
    assert (code, err) == (0, "")
    # The switch comes last: nothing is compressed before it is known how.
    assert out.splitlines() == ["compressor: lzo", "max_pool_percent: 60", "shrinker_enabled: Y", "enabled: Y"]
    after = values(off)
    assert after == {
        **before, "compressor": "lzo", "max_pool_percent": "60", "shrinker_enabled": "Y", "enabled": "Y",
    }  # fmt: skip
    assert ctl(off, "setup") == (0, "nothing to change\n", "")
    code, out, _ = ctl(off, "setup", "--undo")
    assert code == 0 and out.splitlines()[0] == "enabled: N"
    assert values(off) == before
    assert not (off / "run/vswap/before").exists()
    assert ctl(off, "setup", "--undo") == (0, "nothing to change\n", "")


def test_the_first_value_is_restored_after_two_configurations(ctl: Ran, off: Path) -> None:
    before = values(off)
    ctl(off, "setup")
    fakes.write(off, {"/etc/vswap.conf": "enabled = yes\nmax_pool_percent = 70\nmode = always\n"})
    assert ctl(off, "setup")[1].splitlines() == ["mode: always", "max_pool_percent: 70"]
    ctl(off, "setup", "--undo")
    assert values(off) == before


def test_what_somebody_else_changed_is_left_alone(ctl: Ran, off: Path) -> None:
    ctl(off, "setup")
    fakes.write(off, {f"{ZSWAP}/max_pool_percent": 33})
    ctl(off, "setup", "--undo")
    assert values(off)["max_pool_percent"] == "33"
    assert values(off)["enabled"] == "N"


def test_dry_run_changes_nothing(ctl: Ran, off: Path) -> None:
    before = values(off)
    code, out, _ = ctl(off, "setup", "--dry-run")
    assert code == 0 and "max_pool_percent: 20 -> 60" in out
    assert values(off) == before and not (off / "run/vswap").exists()


def test_one_refusal_does_not_keep_the_others(ctl: Ran, off: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressor that the kernel does not have: zswap is on all the same, with the one before."""
    write = Kernel.write

    def refuse(kernel: Kernel, name: str, text: str) -> None:
        if name.endswith("/compressor"):
            raise OSError(2, "No such file or directory")
        write(kernel, name, text)

    monkeypatch.setattr(Kernel, "write", refuse)
    code, out, _ = ctl(off, "setup")
    assert code == 4 and "compressor: not set to lzo: the kernel has no such compressor" in out
    assert values(off)["enabled"] == "Y" and values(off)["compressor"] == "zstd"
    assert "compressor" not in json.loads((off / "run/vswap/before").read_text())
    assert ctl(off, "setup", "--undo")[0] == 0
    assert values(off)["enabled"] == "N"


@pytest.mark.parametrize(
    ("before", "default", "kept"),
    [("zstd", "zstd", None), ("lz4", "zstd", ["lz4", "zstd"])],
)
def test_a_compressor_that_the_kernel_drops(
    ctl: Ran, off: Path, monkeypatch: pytest.MonkeyPatch, before: str, default: str, kept: list[str] | None
) -> None:
    """Before zswap is on for the first time the kernel takes any name, and turns to its default when it is."""
    write = Kernel.write
    fakes.write(off, {f"{ZSWAP}/compressor": f"{before}\n"})

    def falls_back(kernel: Kernel, name: str, text: str) -> None:
        write(kernel, name, text)
        if name.endswith("/enabled") and text == "Y":
            write(kernel, f"{ZSWAP}/compressor", default)

    monkeypatch.setattr(Kernel, "write", falls_back)
    code, out, _ = ctl(off, "setup")
    assert code == 4
    assert f"compressor: not set to lzo: the kernel has no such compressor, it is {default}\n" in out
    assert values(off)["enabled"] == "Y"
    assert json.loads((off / "run/vswap/before").read_text()).get("compressor") == kept
    ctl(off, "setup", "--undo")
    assert values(off)["compressor"] == before and values(off)["enabled"] == "N"


def test_a_value_that_the_kernel_makes_another(ctl: Ran, off: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Kernel.write

    def cut(kernel: Kernel, name: str, text: str) -> None:
        write(kernel, name, "50" if text == "60" else text)

    monkeypatch.setattr(Kernel, "write", cut)
    code, out, _ = ctl(off, "setup")
    assert code == 4 and "max_pool_percent: not set to 60: the kernel made it 50" in out
    ctl(off, "setup", "--undo")
    assert values(off)["max_pool_percent"] == "20"


def test_a_refusal_leaves_the_record_of_an_earlier_run(
    ctl: Ran, off: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = values(off)
    ctl(off, "setup")
    fakes.write(off, {"/etc/vswap.conf": "compressor = other\n"})
    write = Kernel.write

    def refuse(kernel: Kernel, name: str, text: str) -> None:
        if text == "other":
            raise OSError(2, "No such file or directory")
        write(kernel, name, text)

    monkeypatch.setattr(Kernel, "write", refuse)
    assert ctl(off, "setup")[0] == 4 and values(off)["compressor"] == "lzo"
    ctl(off, "setup", "--undo")
    assert values(off) == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_what_there_was_cannot_be_kept(ctl: Ran, off: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Nothing is done then, which the service is not to take for a start."""
    before = values(off)

    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(json, "dump", full)
    code, out, err = ctl(off, "setup")
    assert (code, out) == (3, "") and err.count("\n") == 1
    assert f"{off}/run/vswap/before: {os.strerror(number)}; nothing was changed" in err
    assert values(off) == before and os.listdir(off / "run/vswap") == []


def test_a_refusal_and_a_record_that_cannot_be_kept(ctl: Ran, off: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some settings were made: the service is to take them back at its end, as after any refusal."""
    write, dump = Kernel.write, json.dump

    def refuse(kernel: Kernel, name: str, text: str) -> None:
        if name.endswith("/compressor"):
            monkeypatch.setattr(json, "dump", full)
            raise OSError(errno.ENOENT, "No such file or directory")
        write(kernel, name, text)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Kernel, "write", refuse)
    code, _, err = ctl(off, "setup")
    assert code == 4 and "some settings were made" in err and values(off)["enabled"] == "Y"
    monkeypatch.setattr(json, "dump", dump)
    ctl(off, "setup", "--undo")
    assert values(off)["enabled"] == "N"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_without_root(ctl: Ran, off: Path) -> None:
    (off / "run").mkdir()
    (off / "run").chmod(stat.S_IRUSR | stat.S_IXUSR)
    code, _, err = ctl(off, "setup")
    assert code == 3 and "sudo vswapctl setup" in err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("colour = red", ":1: no setting 'colour'; there are: mode,"),
        ("\nenabled yes", ":2: no setting 'enabled yes'"),
        ("enabled = perhaps", ":1: enabled cannot be 'perhaps'"),
        ("max_pool_percent = 0", "max_pool_percent cannot be '0'"),
        ("max_pool_percent = 101", "cannot be '101'"),
        ("compressor = ../zstd", "cannot be '../zstd'"),
        ("mode = sometimes", "mode cannot be 'sometimes'"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_changed(ctl: Ran, off: Path, text: str, complaint: str) -> None:
    before = values(off)
    fakes.write(off, {"/etc/vswap.conf": f"{text}\n"})
    code, out, err = ctl(off, "setup")
    assert (code, out) == (2, "") and complaint in err and err.count("\n") == 1
    assert values(off) == before


def test_no_configuration_no_zswap(ctl: Ran, ours: Path, tmp_path: Path) -> None:
    assert ctl(ours, "setup")[0] == 3
    assert ctl(ours, "setup", "--config", "/nowhere")[0] == 3
    bare = fakes.write(tmp_path / "bare", {"/etc/vswap.conf": CONF})
    code, _, err = ctl(bare, "setup")
    assert code == 3 and "CONFIG_ZSWAP=y" in err


@pytest.mark.parametrize("generator", [False, True], ids=["active", "at boot"])
def test_not_in_front_of_zram(ctl: Ran, tmp_path: Path, generator: bool) -> None:
    """What is compressed would be compressed again. All else is set, and zswap is once zram has gone."""
    root = fakes.write(fakes.mainline_zram(tmp_path), {"/etc/vswap.conf": CONF})
    if generator:
        fakes.write(root, {"/proc/swaps": fakes.SWAPS, **GENERATOR, "/usr/lib/systemd/zram-generator.conf": ZRAM0})
    code, out, err = ctl(root, "setup")
    assert code == 0 and "max_pool_percent: 60" in out and "enabled:" not in out.replace("shrinker_enabled:", "")
    assert "zswap stays off: swap is on zram" in err and err.count("\n") == 1
    assert values(root)["enabled"] == "N"
    fakes.write(root, {
        "/proc/swaps": fakes.swaps(("/dev/vda2", "partition", 9, 1, 5)),
        "/usr/lib/systemd/zram-generator.conf": "",
    })  # fmt: skip
    assert ctl(root, "setup") == (0, "enabled: Y\n", "")


ZRAM_TOOLS: Files = {
    "/usr/lib/systemd/system/zramswap.service": "[Service]\n",
    "/etc/systemd/system/multi-user.target.wants/zramswap.service": "",
}


@pytest.mark.parametrize("zram", [{**GENERATOR, "/etc/systemd/zram-generator.conf": ZRAM0}, ZRAM_TOOLS])
@pytest.mark.parametrize(
    ("fstab", "enabled"),
    [
        ("", "N"), ("/swapfile none swap sw 0 0\n", "Y"), ("UUID=1-2 none swap\n", "Y"),
        ("#/swapfile none swap sw 0 0\n# /swapfile none swap sw\n", "N"), ("/dev/vda1 / ext4 defaults 0 1\n", "N"),
        ("/swapfile none swap pri=1,noauto 0 0\n", "N"), ("/dev/zram0 none swap defaults 0 0\n", "N"),
    ],
)  # fmt: skip
def test_at_boot_before_any_swap(ctl: Ran, off: Path, zram: Files, fstab: str, enabled: str) -> None:
    """Swap is on zram alone unless fstab has another device."""
    fakes.write(off, {"/proc/swaps": fakes.SWAPS, "/etc/fstab": fstab, **zram})
    assert ctl(off, "setup")[0] == 0
    assert values(off)["enabled"] == enabled


@pytest.mark.parametrize(
    ("files", "enabled"),
    [
        ({"/etc/systemd/zram-generator.conf": ZRAM0}, "Y"),  # what a removed package leaves
        ({"/etc/systemd/zram-generator.conf": ZRAM0, "/proc/cmdline": "systemd.zram=1\n"}, "Y"),
        ({**GENERATOR, "/etc/systemd/zram-generator.conf": ZRAM0, "/proc/cmdline": "systemd.zram=0\n"}, "Y"),
        ({**GENERATOR, "/etc/systemd/zram-generator.conf": ZRAM0,
          "/etc/systemd/system-generators/zram-generator": ""}, "Y"),
        ({**GENERATOR, "/etc/systemd/zram-generator.conf": ZRAM0,
          "/proc/cmdline": "systemd.zram=off systemd.zram=on systemd.zram=?\n"}, "N"),
        ({"/lib/systemd/system-generators/zram-generator": b"\x7fELF", "/proc/cmdline": "systemd.zram\n"}, "N"),
        (GENERATOR, "Y"),
    ],
)  # fmt: skip
def test_whether_zram_generator_makes_a_disk(ctl: Ran, off: Path, files: Files, enabled: str) -> None:
    """A file for it does not tell alone: without zram and zswap the machine would have no swap at all."""
    fakes.write(off, {"/proc/swaps": fakes.SWAPS, **files})
    assert ctl(off, "setup")[0] == 0
    assert values(off)["enabled"] == enabled


@pytest.mark.parametrize("active", [[], ["zram"], ["zram", "disk"], ["disk"]], ids=str)
def test_whatever_is_there_first(ctl: Ran, off: Path, active: list[str]) -> None:
    """At boot zram and a disk come in any order; what is done about zswap is not to depend on it."""
    lines = {"zram": ("/dev/zram0", "partition", 9, 0, 100), "disk": ("/dev/vda2", "partition", 9, 0, -2)}
    fakes.write(off, {
        **GENERATOR, "/etc/systemd/zram-generator.conf": ZRAM0, "/etc/fstab": "UUID=1-2 none swap sw 0 0\n",
        "/proc/swaps": fakes.swaps(*(lines[name] for name in active)),
    })  # fmt: skip
    assert ctl(off, "setup")[0] == 0
    assert values(off)["enabled"] == "Y"


def test_the_service_takes_no_crash_for_success() -> None:
    """Python ends with 1 for what nobody caught; some settings that were refused are no reason to fail."""
    unit = (paths.repo_root() / "packaging/vswap-tools/vswap.service").read_text().splitlines()
    assert f"SuccessExitStatus={errors.PARTLY}" in unit and errors.PARTLY not in (0, 1, 2, 3)


def test_a_number_is_a_decimal_one(ctl: Ran, off: Path) -> None:
    """The kernel reads 050 as 40."""
    fakes.write(off, {"/etc/vswap.conf": "max_pool_percent = 050\n"})
    assert ctl(off, "setup") == (0, "max_pool_percent: 50\n", "")


def test_a_file_beside_us(off: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ctl: Ran) -> None:
    """A relative name is one of where we are, not of the root of the tree."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here/my.conf").write_text("max_pool_percent = x\n")
    monkeypatch.chdir(tmp_path / "here")
    code, _, err = ctl(Path("/"), "setup", "--dry-run", "--config", "my.conf")
    assert code == 2 and f"{tmp_path}/here/my.conf:1: max_pool_percent cannot be 'x'" in err


def test_mainline_has_no_mode(ctl: Ran, tmp_path: Path) -> None:
    root = fakes.write(
        fakes.mainline_zswap(tmp_path), {"/etc/vswap.conf": "mode = always\nmax_pool_percent = 30\n"}
    )
    assert ctl(root, "setup")[1].splitlines() == ["max_pool_percent: 30"]


@pytest.mark.parametrize(
    "record", ["", "{", "[]", '{"enabled": 1}', '{"enabled": ["N"]}', '{"other": ["a", "b"]}']
)
def test_a_broken_record_is_no_record(ctl: Ran, off: Path, record: str) -> None:
    fakes.write(off, {"/run/vswap/before": record})
    assert ctl(off, "setup", "--undo")[0] == 0
    assert ctl(off, "setup")[0] == 0
    assert ctl(off, "setup", "--undo")[0] == 0
    assert values(off)["enabled"] == "N"


def test_the_file_of_the_package_is_right() -> None:
    """Each setting is in it, and it is right with every comment sign taken off a setting, too."""
    text = (paths.repo_root() / "packaging/vswap-tools/vswap.conf").read_text()
    assert bootconf.parse(text, "vswap.conf") == {
        "enabled": "Y", "max_pool_percent": "50", "shrinker_enabled": "Y",
    }  # fmt: skip
    lines = [line.removeprefix("#") if line[:1] == "#" != line[1:2] != " " else line for line in text.splitlines()]
    assert set(bootconf.parse("\n".join(lines), "vswap.conf")) == set(bootconf.FILES)
