# SPDX-License-Identifier: GPL-2.0
"""The profile by function: reading what the plugin wrote, the plugin in QEMU, and the command's table."""

import json
import subprocess
from pathlib import Path

import pytest

from vswaplab import cli
from vswaplab.commands import profile
from vswaplab.errors import BuildError, ToolError
from vswaplab.guest.qemu import PROGRAM
from vswaplab.profile import functions, plugin
from vswaplab.profile.functions import Function

NM = """
ffffffff81000000 T _stext
ffffffff81000100 t swap_range_free
ffffffff81000180 D not_code
ffffffff81000200 T folio_alloc_swap
ffffffff81000300 t folio_alloc_swap.cold
                 U elsewhere
"""


def test_blocks_become_functions() -> None:
    """A block belongs to the function before it; only the first one counts calls; parts are added up."""
    found = functions.read_symbols(NM.splitlines())
    names = [name for _, name in found]
    assert names == ["_stext", "swap_range_free", "folio_alloc_swap", "folio_alloc_swap.cold"]
    blocks = ["ffffffff81000200 5 10", "ffffffff81000210 3 4", "ffffffff81000300 2 1", "ffffffff81000190 7 1"]
    blocks.append("1 9 9")  # below all of them
    assert functions.by_function(blocks, found) == {
        "folio_alloc_swap": Function(5 * 10 + 3 * 4 + 2, 10 + 1),
        "swap_range_free": Function(7, 0),
    }


@pytest.mark.parametrize("line", ["", "ffffffff81000200 5", "ffffffff81000200 5 x", "1 2 3 4"])
def test_a_line_that_is_none(line: str) -> None:
    with pytest.raises(ToolError, match="plugin wrote"):
        functions.by_function([line], [(0, "a")])


@pytest.mark.parametrize(("said", "api"), [("7.2.22 (Debian)", 1), ("8.2.0", 1), ("9.0.1", 2), ("10.0.2", 2)])
def test_the_api_is_that_of_qemu(said: str, api: int) -> None:
    assert plugin.api_version(f"QEMU emulator version {said}\n") == api
    with pytest.raises(ToolError, match="does not tell its version"):
        plugin.api_version("what?\n")


def test_the_plugin_is_built_once(cache: Path) -> None:
    first = plugin.build()
    made = first.stat().st_mtime_ns
    assert first == plugin.build() and first.stat().st_mtime_ns == made and first.is_relative_to(cache)


def test_a_plugin_that_does_not_compile(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = cache / "counts.c"
    broken.parent.mkdir(parents=True, exist_ok=True)
    broken.write_text("int x = ;\n")
    monkeypatch.setattr(plugin, "SOURCE", broken)
    with pytest.raises(BuildError, match="does not compile"):
        plugin.build()
    assert list((cache / "profile").glob("*.so")) == []


def test_qemu_takes_the_plugin(cache: Path, tmp_path: Path) -> None:
    """A machine without a kernel runs its firmware, nothing of which is in the kernel's half of memory."""
    counts = tmp_path / "counts"
    argv = [PROGRAM, "-nodefaults", "-display", "none", "-plugin", f"{plugin.build()},out={counts}"]
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(argv, timeout=3, check=False)
    assert counts.read_text() == ""
    refused = subprocess.run(
        [*argv[:-1], str(plugin.build())], timeout=30, check=False, capture_output=True, text=True
    )
    assert refused.returncode != 0 and "expected out=FILE" in refused.stderr


BASE = {"folio_alloc_swap": Function(1000, 10), "xas_store": Function(500, 20)}
OURS = {"folio_alloc_swap": Function(2100, 20), "vswap_release": Function(400, 40)}


def test_the_table_is_per_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The two guests need not have swapped out the same number of pages; what differs most is above."""
    monkeypatch.setattr(profile, "measured", lambda name, *_: {"mainline": BASE, "vswap": OURS}[name])
    assert cli.main(["profile", "--top", "2", "--json", str(tmp_path / "out.json")]) == 0
    lines = [line.replace("│", " ").split() for line in capsys.readouterr().out.splitlines()]
    assert ["xas_store", "50.0", "0.0", "-50.0", "2.00", "0.00"] in lines
    assert ["vswap_release", "0.0", "20.0", "+20.0", "0.00", "2.00"] in lines
    assert not any("folio_alloc_swap" in line for line in lines)
    assert ["whole", "kernel", "150", "125", "-25"] in lines
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["mainline"]["xas_store"] == [500, 20] and written["vswap"]["vswap_release"] == [400, 40]


@pytest.mark.long
@pytest.mark.kernel("vswap", "x86_64", "bench")
@pytest.mark.kernel("mainline", "x86_64", "bench")
def test_in_a_guest(tmp_path: Path) -> None:
    """Mainline's zswap stores into an XArray, ours does not; both compress as often."""
    out = tmp_path / "out.json"
    assert cli.main(["profile", "--setup", "zswap", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    pages = {name: found[name]["folio_alloc_swap"][1] for name in found}
    assert pages["mainline"] == pages["vswap"] > 100_000
    assert found["mainline"]["xas_store"][1] > pages["mainline"] > 100 * found["vswap"]["xas_store"][1]
    mainline, ours = (found[name]["crypto_acomp_compress"][1] for name in ("mainline", "vswap"))
    assert mainline == ours > 50_000
