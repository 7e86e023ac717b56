# SPDX-License-Identifier: GPL-2.0
"""The pictures of docs/screenshots: shown by the pages, small, and what the script makes of the recordings."""

import html
import re
import subprocess
from pathlib import Path

import pytest
from PIL import Image
from rich.style import Style

from vswaplab import paths

pytest.importorskip("pyte")
from vswaplab.screenshots import __main__ as script  # noqa: E402 - it needs pyte
from vswaplab.screenshots import browser, record, terminal  # noqa: E402

ROOT = paths.repo_root()
PICTURES = sorted([*(f"{name}.svg" for name in record.COMMANDS), *(f"{name}.png" for name in script.PAGES)])
SHOWN = re.compile(r"!\[([^\]]+)\]\(([^)]+)\)")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def words(svg: str) -> list[str]:
    """The text of each line of a terminal's picture, without blanks."""
    lines: dict[float, str] = {}
    for y, text in re.findall(r'<text class="\S+-r\d+"[^>]* y="([\d.]+)"[^>]*>([^<]*)', svg):
        lines[float(y)] = lines.get(float(y), "") + html.unescape(text)
    return ["".join(lines[y].split()) for y in sorted(lines)]


def test_all_are_there_and_no_others() -> None:
    found = sorted(path.name for path in script.TARGET.iterdir() if path.suffix in (".png", ".svg"))
    assert found == PICTURES


def test_every_picture_of_a_page_exists_and_every_one_is_shown() -> None:
    shown = set()
    for page in PAGES:
        for text, target in SHOWN.findall(page.read_text()):
            assert (page.parent / target).is_file(), (page, target)
            shown.add((page.parent / target).resolve())
            # A picture of text says what is to be seen on it.
            assert Path(target).parent.name != "screenshots" or len(text.split()) >= 3, (page, text)
    assert {path for path in shown if path.parent == script.TARGET} == {script.TARGET / name for name in PICTURES}
    assert script.TARGET / "top.svg" in {
        (ROOT / target).resolve() for _, target in SHOWN.findall((ROOT / "README.md").read_text())
    }


@pytest.mark.parametrize("name", PICTURES)
def test_small_and_of_this_project_alone(name: str) -> None:
    data = (script.TARGET / name).read_bytes()
    assert len(data) < 150_000
    if name.endswith(".png"):
        with Image.open(script.TARGET / name) as image:
            assert image.size == script.PAGES[name.removesuffix(".png")][1]
    else:
        assert b"@font-face" not in data and re.findall(rb"https?://(?!www\.w3\.org/)", data) == []


def test_terminals_are_drawn_from_the_recordings() -> None:
    """Whatever the version of the library that draws: the same text in the same lines."""
    for name, text in script.drawn(script.TARGET).items():
        drawn = words(text)
        assert drawn == words((script.TARGET / name).read_text())
        assert any(line.startswith("virtualswap:modeauto") for line in drawn), drawn
        assert len(drawn) > 15


def test_recordings_are_of_a_machine_that_swaps() -> None:
    status = (script.TARGET / "status.txt").read_text()
    for row in ("zero", "zswap", "device"):
        assert re.search(rf"(?m)^  {row} +[1-9][0-9.]* MB", status), row
    assert "Traceback" not in status and "vswapctl:" not in status
    assert str(Path.home()) not in status


def test_colours_positions_and_the_other_screen() -> None:
    written = "\033[?1049h\033[2J\033[1;1Hone\n\033[3;5H\033[1;31mred\033[0m \033[38;5;208mx\033[0m\033[?1049lgone"
    lines = terminal.screen(written, 20, 5)
    assert [line.plain for line in lines] == ["one", "", "    red x"]
    styles = {line.plain[span.start : span.end]: span.style for line in lines for span in line.spans}
    assert isinstance(styles["red"], Style) and styles["red"].bold and styles["red"].color is not None
    assert styles["red"].color.name == "red" and styles["x"].color.name == "#ff8700"  # type: ignore[union-attr]
    assert "gone" not in terminal.svg(written, "a title", 20, 5)


def test_a_run_without_arguments_it_knows() -> None:
    done = subprocess.run([script.TARGET / "render", "--nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--nothing" in done.stderr


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
def test_the_whole_script(tmp_path: Path) -> None:
    """With new recordings."""
    if browser.program() is None:
        pytest.skip("no browser is installed (Debian: chromium)")
    subprocess.run([script.TARGET / "render", "--record", tmp_path], check=True, timeout=600)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*PICTURES, "status.txt", "top.txt"])
    assert any("zswap" in line for line in words((tmp_path / "top.svg").read_text()))
