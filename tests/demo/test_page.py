# SPDX-License-Identifier: GPL-2.0
"""The page as text: whole, small, and saying what failed."""

import json
import re
from html.parser import HTMLParser

from tests.demo import records
from vswaplab.demo import page

MOST = 500_000  # bytes of a page


class Reader(HTMLParser):
    """Collects the elements, and checks that they are closed in order."""

    VOID = {"meta", "input", "br", "link", "img"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words += data


def test_it_needs_nothing_else() -> None:
    text = page.page(records.record())
    reader = Reader(text)
    assert not any({"src", "href", "srcset", "action"} & set(attributes) for _, attributes in reader.seen)
    assert "@import" not in text and set(re.findall(r"url\(.", text)) <= {"url(#"}
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"], "a name, never fetched"
    policy = next(a["content"] for tag, a in reader.seen if "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none'")


def test_it_is_small_however_long_the_run_was() -> None:
    machines = [records.recorded(name, 20_001) for name in ("mainline", "zram", "virtual swap")]
    text = page.page(records.record(*machines))
    assert len(text.encode()) < MOST / 2


def test_facts() -> None:
    words = Reader(page.page(records.record())).words
    size = "file, 576.0 MB"
    for fact in ("256.0 MB", "lz4", "2026-11-23", "Linux 7.3.4", size, "512.0 MB verified", "<memory> & "):
        assert fact in words, fact


def test_a_failure_is_said_and_nothing_is_made_up() -> None:
    words = Reader(page.page(records.record(records.failed(), records.recorded("virtual swap")))).words
    assert "killed for lack of memory (swapcheck)" in words
    assert "swapcheck: failed after 5.00 s, exit code 137" in words
    empty = records.recorded(
        "mainline", columns={"t": []}, phases=(), seconds=None, result="machine lost", failure="it did not boot",
        release="", compressor="",
    )  # fmt: skip
    words = Reader(page.page(records.record(empty))).words
    assert "it did not boot" in words and "Nothing was recorded" in words and "none began" in words


def test_no_text_of_a_record_becomes_markup() -> None:
    evil = "</script><script>alert(1)</script><!--"
    machine = records.recorded("zram", 3, name=evil, summary=evil, failure=evil, result=evil)
    text = page.page(records.record(machine))
    scripts = [tag for tag, _ in Reader(text).seen if tag == "script"]
    assert len(scripts) == 2 and "<!--" not in text
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data and json.loads(data[1])["machines"][0]["name"] == evil
