# SPDX-License-Identifier: GPL-2.0
"""The pictures of docs/page-life.md: rendered from their text, and naming functions that exist."""

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.series import stored

DOCS = paths.repo_root() / "docs"
SOURCES = sorted((DOCS / "diagrams").glob("*.dot"))
NAME = re.compile(
    r"\b(_*v?swap\w*|_*zswap\w*|folio_\w+|queue_work|reclaim_pages|try_to_unuse)\(\)|\b(VSWAP_[A-Z]+)\b"
)
# In the base's files, where the edits of the series do not show them.
MAINLINE = {
    "folio_alloc_swap", "queue_work", "reclaim_pages", "swap_cache_alloc_folio", "swap_read_folio",
    "swap_write_submit", "swap_writeout", "try_to_unuse", "zswap_compress",
}  # fmt: skip


def named(text: str) -> set[str]:
    """Functions and tags that a text names."""
    return {function or tag for function, tag in NAME.findall(text)}


def texts(svg: str) -> list[str]:
    """All lines of text in a picture, sorted."""
    return sorted(html.unescape(line).strip() for line in re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def labels(dot: str) -> list[str]:
    """The same of its source."""
    found = re.findall(r'\blabel="([^"]*)"', dot)
    return sorted(line.strip() for label in found for line in label.split("\\n"))


def in_kernel() -> str:
    """All sources of ours: whole files, and patches without what they say."""
    store = stored.ours()
    whole = [path.read_text() for path in store.kernel.rglob("*") if path.suffix in (".c", ".h")]
    return "\n".join([*whole, *(patch.mail.diff.decode() for patch in stored.load(store))])


@pytest.mark.parametrize("path", [*SOURCES, DOCS / "page-life.md"], ids=lambda path: path.name)
def test_names_exist(path: Path) -> None:
    words = set(re.findall(r"\w+", in_kernel())) | MAINLINE
    text = path.read_text().replace("\\n", "\n")  # of labels
    assert named(text), "it names nothing: the test looks for the wrong thing"
    assert named(text) - words == set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_picture_is_of_this_text(path: Path) -> None:
    svg = path.with_suffix(".svg").read_text()
    assert texts(svg) == labels(path.read_text()), "run docs/diagrams/render"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_page_shows_it(path: Path) -> None:
    assert f"(diagrams/{path.stem}.svg)" in (DOCS / "page-life.md").read_text()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_it_can_be_rendered(path: Path) -> None:
    """Whatever the version of Graphviz draws, it has the same texts."""
    done = subprocess.run(["dot", "-Tsvg", path], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert texts(done.stdout) == labels(path.read_text())
