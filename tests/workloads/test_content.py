# SPDX-License-Identifier: GPL-2.0
"""swapcheck's content: compressible as asked, mixed as asked, and no two pages alike."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workloads.conftest import Program

PAGE = 4096
ZEROES = bytes(PAGE)


def dump(swapcheck: Program, tmp_path: Path, *args: str) -> list[bytes]:
    """The pages swapcheck would fill."""
    path = tmp_path / "dump"
    ran = swapcheck("--size", "8M", "--dump", str(path), *args)
    assert ran.code == 0, ran.err
    data = path.read_bytes()
    assert len(data) == 8 << 20
    return [data[at : at + PAGE] for at in range(0, len(data), PAGE)]


def ratio_of(pages: list[bytes]) -> float:
    """How well zlib packs each page on its own, as a swap compressor must."""
    return sum(map(len, pages)) / sum(len(zlib.compress(page, 1)) for page in pages)


@pytest.mark.parametrize("ratio", [1.3, 2, 3, 4, 6])
def test_ratio(swapcheck: Program, tmp_path: Path, ratio: float) -> None:
    pages = dump(swapcheck, tmp_path, "--ratio", str(ratio))
    # zlib spends more on headers than LZO, LZ4 or zstd, which come within two percent.
    assert ratio_of(pages) == pytest.approx(ratio, rel=0.09)


def test_random_is_incompressible_and_text_is_not(swapcheck: Program, tmp_path: Path) -> None:
    assert ratio_of(dump(swapcheck, tmp_path, "--random", "100")) < 1.01
    assert ratio_of(dump(swapcheck, tmp_path, "--ratio", "1")) < 1.01
    assert 2 < ratio_of(dump(swapcheck, tmp_path, "--text", "100")) < 5


def test_shares_of_the_mixture(swapcheck: Program, tmp_path: Path) -> None:
    pages = dump(swapcheck, tmp_path, "--zero", "20", "--same", "10", "--text", "30", "--random", "15")
    zero = [page for page in pages if page == ZEROES]
    same = [page for page in pages if page != ZEROES and page == page[:8] * (PAGE // 8)]
    text = [page for page in pages if page[16:].isascii() and page not in zero]
    random = [page for page in pages if ratio_of([page]) < 1.01]
    for found, percent in ((zero, 20), (same, 10), (text, 30), (random, 15)):
        assert 100 * len(found) / len(pages) == pytest.approx(percent, abs=4)


def test_every_page_is_like_no_other(swapcheck: Program, tmp_path: Path) -> None:
    pages = dump(swapcheck, tmp_path, "--same", "20", "--text", "20", "--random", "20")
    assert len(set(pages)) == len(pages)
    # Not even their parts: a mixed-up quarter of a page must show.
    quarters = {page[at : at + 1024] for page in pages for at in range(0, PAGE, 1024)}
    same = sum(1 for page in pages if page == page[:8] * (PAGE // 8))
    assert len(quarters) >= (len(pages) - same) * 2


def test_content_depends_on_the_seed_only(swapcheck: Program, tmp_path: Path) -> None:
    first = dump(swapcheck, tmp_path, "--seed", "7")
    assert dump(swapcheck, tmp_path, "--seed", "7") == first
    other = dump(swapcheck, tmp_path, "--seed", "8")
    assert not set(first) & set(other)
