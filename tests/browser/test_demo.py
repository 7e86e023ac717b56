# SPDX-License-Identifier: GPL-2.0
"""The page of the demonstration in a real browser: it draws, plays, and asks nobody for anything."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.browser.chromium import Page
from tests.demo import records
from vswaplab import paths
from vswaplab.demo import page
from vswaplab.demo.record import Record

TOP = paths.repo_root()
pytestmark = pytest.mark.skipif(chromium.program() is None, reason="no browser (Debian: chromium)")
WIDE, HIGH = 1400, 1000
# How far the curves of each plot reach, as a share of its width: what the clipping rectangle shows.
DRAWN = "[...document.querySelectorAll('clipPath rect')].map(r => Number(r.getAttribute('width')) / 1000)"
CELLS = "[...document.querySelectorAll('#values tbody tr')].map(r => [...r.children].map(c => c.textContent))"
STATE, TIME = "document.body.dataset.state", "Number(document.body.dataset.time)"


@pytest.fixture(scope="module")
def one() -> Iterator[Page]:
    """A browser for all tests here."""
    with chromium.browser() as found:
        yield found


@pytest.fixture
def window(one: Page) -> Iterator[Page]:
    """It, with nothing said before, and no complaint at the end."""
    one.events.clear()
    one.window(WIDE, HIGH)
    yield one
    assert one.complaints() == []


def at_speed(window: Page, times: str) -> None:
    """Choose a speed; the slowest leave a busy host time to look."""
    window.value(f"document.getElementById('speed').value = '{times}'")


def shown(window: Page, directory: Path, found: Record) -> Page:
    """The page of a record, loaded, at the speed of the run."""
    path = directory / "page.html"
    path.write_text(page.page(found))
    window.open(path)
    window.wait("document.body.dataset.plots !== undefined")
    at_speed(window, "1")
    return window


def cell(window: Page, name: str) -> list[str]:
    """A row of the table at the playhead."""
    rows = {row[0]: row[1:] for row in window.value(CELLS)}
    found: list[str] = rows[name]
    return found


def test_it_draws_everything_and_asks_for_nothing(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, records.record())
    assert window.requests() == [(tmp_path / "page.html").as_uri()]
    assert window.value("Number(document.body.dataset.plots)") == 9
    assert window.value(STATE) == "ended" and window.value(DRAWN) == [1] * 9
    sizes = window.value(
        "[...document.querySelectorAll('.plot > svg path')].map(p => p.getBBox()).map(b => b.width * b.height)"
    )
    assert len(sizes) > 30 and sum(size > 0 for size in sizes) > 15
    assert not window.value("document.body.innerHTML.match(/NaN|undefined|Infinity/)")


def test_playing(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, records.record())
    window.click("#play")
    assert window.value("document.getElementById('play').textContent") == "Pause"
    window.wait(f"{TIME} > 1")
    window.click("#play")
    at = window.value(TIME)
    assert window.value(STATE) == "paused" and 1 < at < 10
    assert window.value(DRAWN) == pytest.approx([at / 10] * 9, abs=0.002)
    assert window.value(TIME) == at, "it stands still"
    at_speed(window, "20")
    window.click("#play")
    window.wait(f"{STATE} === 'ended'")
    assert window.value(TIME) == 10


def test_speed(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, records.record())
    took = []
    for speed in ("20", "5"):
        at_speed(window, speed)
        window.click("#play")
        took.append(window.value(
            f"(async () => {{ const start = performance.now(); while ({STATE} === 'playing')"
            " await new Promise(requestAnimationFrame); return performance.now() - start; })()"
        ))  # fmt: skip
    assert took[1] > 1.5 * took[0] and took[1] > 1500, "ten seconds at five times the speed"


def test_keyboard(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, records.record())
    window.press(" ")
    window.wait(f"{STATE} === 'playing' && {TIME} > 0.2")
    window.press(" ")
    assert window.value(STATE) == "paused"
    # From control to control, and the slider's own keys.
    order = []
    for _ in range(3):
        window.press("Tab")
        order.append(window.value("document.activeElement.id"))
    assert order == ["play", "time", "speed"]
    window.value("document.getElementById('time').focus()")
    window.press("Home")
    assert window.value(TIME) == 0 and window.value(DRAWN) == [0] * 9
    window.press("ArrowRight")
    assert 0 < window.value(TIME) < 0.1
    assert window.value("document.getElementById('time').getAttribute('aria-valuetext')") == "0.0 s of 10.0 s"
    window.press("End")
    assert window.value(TIME) == 10 and window.value(STATE) == "ended"
    window.value("document.getElementById('play').focus()")
    window.press(" ")
    assert window.value(STATE) == "playing", "the button takes the key once"


def test_values_at_the_playhead(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, records.record())
    slider = "document.getElementById('time')"
    window.value(f"{slider}.value = 5; {slider}.dispatchEvent(new Event('input'))")
    assert cell(window, "in zswap") == ["100,000 pages", "–", "100,000 pages"]
    assert cell(window, "in zram") == ["–", "100,000 pages", "–"]
    assert cell(window, "metadata of virtual slots") == ["–", "–", "2.0 MB"]
    assert cell(window, "slots taken on a swap device") == ["100,010 pages", "100,010 pages", "0 pages"]
    assert cell(window, "into zswap (zswpout)") == ["8,000 pages/s", "0 pages/s", "8,000 pages/s"]
    stages = window.value("[...document.querySelectorAll('.stage')].map(s => s.textContent)")
    assert stages == ["redis-server"] * 3


def test_a_machine_that_failed_ends_where_it_ended(window: Page, tmp_path: Path) -> None:
    empty = records.recorded(
        "zram", columns={"t": []}, phases=(), result="machine lost", failure="it did not boot"
    )  # fmt: skip
    shown(window, tmp_path, records.record(records.failed(), empty, records.recorded("virtual swap")))
    assert window.value("Number(document.body.dataset.plots)") == 6
    assert cell(window, "free")[:2] == ["–", "–"] and cell(window, "free")[2] != "–"
    stages = window.value("[...document.querySelectorAll('.stage')].map(s => s.textContent)")
    assert stages == ["ended: out of memory", "", "ended: verified"]
    failures = window.value("[...document.querySelectorAll('.machine .failed')].map(e => e.offsetHeight > 0)")
    assert failures == [True, True, True]
    widths = window.value("[...document.querySelectorAll('.area')].map(p => p.getBBox().width)")
    assert widths[0] == pytest.approx(500, abs=1) and widths[-1] == pytest.approx(1000, abs=1)


@pytest.mark.parametrize(("width", "columns"), [(1400, 3), (800, 2), (420, 1), (320, 1)])
def test_narrow_windows(width: int, columns: int, window: Page, tmp_path: Path) -> None:
    window.window(width, HIGH)
    shown(window, tmp_path, records.record(records.failed(), *records.record().machines[1:]))
    lefts = window.value("[...document.querySelectorAll('.machine')].map(m => m.getBoundingClientRect().left)")
    assert len(set(lefts)) == columns
    assert window.value("document.documentElement.scrollWidth") <= width, "no scrolling sideways"
    if columns == 3:
        tops = window.value("[...document.querySelectorAll('figure')].map(f => f.getBoundingClientRect().top)")
        assert len(set(tops)) == 3, "a row for each plot"


# WCAG's contrast of an element's text with the first background behind it.
CONTRAST = """[...document.querySelectorAll('h1, p, td, th, li, span, button, output, b')]
  .filter(e => e.textContent.trim() && e.offsetParent).map(e => {
    const rgb = c => c.match(/[\\d.]+/g).map(Number);
    const light = c => { const [r, g, b] = rgb(c).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    let back = e; while (back && rgb(getComputedStyle(back).backgroundColor)[3] === 0) back = back.parentElement;
    const [a, b] = [light(getComputedStyle(e).color), light(getComputedStyle(back).backgroundColor)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); })"""


def test_both_colour_schemes_can_be_read(window: Page, tmp_path: Path) -> None:
    found = records.record(records.failed(), records.recorded("virtual swap"))
    backs = []
    for scheme in ("light", "dark"):
        window.window(WIDE, HIGH, scheme)
        shown(window, tmp_path, found)
        contrasts = window.value(CONTRAST)
        assert len(contrasts) > 100 and min(contrasts) >= 4.5
        backs.append(window.value("getComputedStyle(document.body).backgroundColor"))
    assert len(set(backs)) == 2


def test_screenshot_is_no_blank(window: Page, tmp_path: Path) -> None:
    shown(window, tmp_path, records.record())
    window.screenshot(tmp_path / "shot.png")
    data = (tmp_path / "shot.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 20_000


def test_long_record(window: Page, tmp_path: Path) -> None:
    machines = [records.recorded(name, 20_001) for name in ("mainline", "zram", "virtual swap")]
    shown(window, tmp_path, records.record(*machines))
    at_speed(window, "20")
    window.click("#play")
    window.wait(f"{TIME} > 1")


@pytest.mark.long
@pytest.mark.kernel("vswap", "um", "release")
@pytest.mark.kernel("mainline", "um", "release")
def test_whole_demonstration(window: Page, tmp_path: Path) -> None:
    """Run, recorded, made again from the record, and replayed."""
    first, again, source = (tmp_path / name for name in ("first.html", "again.html", "record.json"))
    vswap = [sys.executable, "-m", "vswaplab", "demo", "--html"]
    command = [*vswap, str(first), "--json", str(source)]
    ran = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=3600, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    subprocess.run([*vswap, str(again), "--from", str(source)], cwd=TOP, check=True)
    assert first.read_bytes() == again.read_bytes() and first.stat().st_size < 500_000
    results = [machine["result"] for machine in json.loads(source.read_text())["machines"]]
    assert len(results) == 3 and results[2] == "verified"
    window.open(first)
    window.wait("document.body.dataset.plots === '9'")
    assert window.requests() == [first.as_uri()]
    at_speed(window, "20")
    window.click("#play")
    window.wait(f"{STATE} === 'ended'", 120)
