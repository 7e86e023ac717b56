# SPDX-License-Identifier: GPL-2.0
"""Coverage: what a guest hands back, what gcov says of it, and which lines count."""

import base64
import io
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from vswaplab import cli
from vswaplab.bench import sources
from vswaplab.build import config
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.commands import coverage
from vswaplab.coverage import lines, take
from vswaplab.coverage.lines import Covered
from vswaplab.errors import VswapError
from vswaplab.source import linux

# Two files, as in the kernel: one below mm/vswap, one beside it, built in a directory of its own.
OWN = """int never(int x) { return x; }
int twice(int x)
{
	if (x > 5)
		return never(x);
	return 2 * x;
}
"""
OTHER = "int twice(int);\nint main(void)\n{\n\treturn twice(2) != 4;\n}\n"


@pytest.fixture
def built(tmp_path: Path) -> BuiltKernel:
    """A program that stands for a kernel; it is run twice, in two guests."""
    out = tmp_path / "tree" / "out"
    for name, text in (("mm/vswap/own.c", OWN), ("mm/other.c", OTHER)):
        for top in (tmp_path / "tree", out):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
        argv = ["gcc", "-c", "--coverage", f"../{name}", "-o", name.replace(".c", ".o")]
        subprocess.run(argv, cwd=out, check=True)
    subprocess.run(["gcc", "--coverage", "mm/other.o", "mm/vswap/own.o", "-o", "program"], cwd=out, check=True)
    for guest in ("guest-1", "guest-2"):
        subprocess.run(["./program"], cwd=out, check=True)
        for data in out.rglob("*.gcda"):
            target = tmp_path / "counted" / guest / str(data.relative_to("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(data, target)
    return BuiltKernel("vswap", "um", "coverage", out / "program", out, out, "7.3")


@pytest.mark.skipif(shutil.which("gcov") is None, reason="gcov is not installed")
def test_the_sum_of_two_guests(built: BuiltKernel, tmp_path: Path) -> None:
    guests = sorted((tmp_path / "counted").iterdir())
    total = lines.merged(guests, built, tmp_path / "work")
    found = lines.counts(total, tmp_path / "tree")
    assert dict(found["mm/vswap/own.c"]) == {1: 0, 2: 2, 4: 2, 5: 0, 6: 2}
    assert found["mm/other.c"][4] == 2
    covered = lines.ours(lines.together([found, found]), {"mm/other.c": {1, 4}})
    assert covered == [Covered("mm/other.c", 1, ()), Covered("mm/vswap/own.c", 5, (1, 5))]
    assert [one.percent for one in covered] == [100.0, 60.0]


def test_tests_of_ours_and_lines_of_others_do_not_count() -> None:
    found = {"mm/vswap/tests/a.c": {1: 0}, "mm/swapfile.c": {7: 0, 8: 3}, "mm/rmap.c": {1: 0}}
    assert lines.ours(found, {"mm/swapfile.c": {8, 9}}) == [Covered("mm/swapfile.c", 1, ())]
    assert Covered("", 0, ()).percent == 100.0


def test_what_a_guest_hands_back(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("./tree/out/mm/a.gcda")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"data"))
    files = {"coverage.tar.gz.base64": base64.b64encode(packed.getvalue()).decode(), "code": "0"}
    kept = take.kept(files, tmp_path / "um")
    assert (kept / "tree/out/mm/a.gcda").read_bytes() == b"data" and files == {"code": "0"}
    with pytest.raises(VswapError, match="handed back no coverage"):
        take.kept(files, tmp_path / "um")


def test_the_script_goes_on_and_keeps_its_code() -> None:
    text = take.wrapped("exec false")
    assert "exec false" in text and text.rstrip().endswith("exit $code")


def test_the_flavour_is_debug_without_kasan(tmp_path: Path) -> None:
    directory = Path(__file__).parents[2] / "configs"
    names = [path.name for path in config.fragments("vswap", "um", "coverage", directory)]
    assert names == [
        "common.config", "um.config", "debug.config", "debug-um.config", "coverage.config", "vswap.config",
        "debug-vswap.config",
    ]  # fmt: skip
    wanted = config.requested(config.fragments("vswap", "um", "coverage", directory))
    assert (wanted["CONFIG_KASAN"], wanted["CONFIG_GCOV_KERNEL"], wanted["CONFIG_VSWAP_DEBUG"]) == ("n", "y", "y")


@pytest.mark.parametrize(("numbers", "text"), [((), ""), ((3,), "3"), ((3, 7, 8, 9, 11), "3, 7-9, 11")])
def test_line_numbers(numbers: tuple[int, ...], text: str) -> None:
    assert Covered("a file", 20, numbers).runs == text


def test_nothing_to_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["coverage", str(tmp_path)]) == 2
    assert "has no coverage: run ./vswap test --coverage" in capsys.readouterr().err


def test_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which kernel, when, of how many guests, and what docs/reliability.md shows of it."""
    (tmp_path / "um" / "guest-1").mkdir(parents=True)
    (tmp_path / "um" / "guest-2").mkdir()
    counts = {"mm/vswap/a.c": {1: 5, 2: 0}, "mm/swapfile.c": {7: 1, 9: 0}}
    monkeypatch.setattr(coverage, "_counts", lambda _guests, _progress: counts)
    monkeypatch.setattr(linux, "fetch", lambda **_options: tmp_path)
    monkeypatch.setattr(linux, "pristine", lambda *_words, **_options: tmp_path)
    monkeypatch.setattr(lines, "added", lambda *_words: {"mm/swapfile.c": {7}})
    monkeypatch.setattr(sources, "of_lab", lambda _name: "0123456789abcdef")
    assert cli.main(["coverage", str(tmp_path), "--json", str(tmp_path / "coverage.json")]) == 0
    found = json.loads((tmp_path / "coverage.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.pop("date"))
    assert found == {
        "kernel": "0123456789ab", "guests": {"um": 2}, "own_percent": 50.0, "edited_percent": 100.0,
        "files": {"mm/swapfile.c": {"lines": 1, "missed": []}, "mm/vswap/a.c": {"lines": 2, "missed": [2]}},
    }  # fmt: skip
