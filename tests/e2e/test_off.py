# SPDX-License-Identifier: GPL-2.0
"""CONFIG_VSWAP=n, and where virtual swap is not offered."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.common import Boot, answer
from vswaplab import build


@pytest.mark.kernel("vswap-off", "um", "release")
def test_compiled_out(boot_guest: Boot) -> None:
    """The tree without the option boots, shows none of it, and swaps to a device as ever."""
    script = """
[ -e $V ]; echo $? > $RESULTS/sysfs
grep -c vswap /proc/vmstat > $RESULTS/vmstat
swapcheck --size 24M --pageout --passes 1 --json > $RESULTS/out.json
"""
    result = boot_guest(script, kernel="vswap-off", flavour="release", swap="file:128M", mode="auto")
    assert result.files["sysfs"].strip() == "1" and result.files["vmstat"].strip() == "0"
    assert answer(result, "out.json")["verified"] is True
    assert result.device_slots_peak > 1000


@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.parametrize(
    ("make", "without"),
    [(["ARCH=i386"], ""), (["ARCH=x86_64"], "CONFIG_SWAP"), (["ARCH=x86_64"], "CONFIG_ZSWAP")],
    ids=["32-bit", "no-swap", "no-zswap"],
)
def test_not_offered(tmp_path: Path, make: list[str], without: str) -> None:
    """olddefconfig drops the option where it makes no sense, and keeps it elsewhere."""
    tree = build.source_tree("vswap").path
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
