# SPDX-License-Identifier: GPL-2.0
"""Which topics of the series git am takes without which others; docs/work.md and the cover letter say so.

That they apply does not say that they build: tests/lab/test_series.py builds the series in its order.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.conftest import REAL_CACHE
from vswaplab import paths
from vswaplab.series import export, gitline, mails, stored
from vswaplab.source import linux
from vswaplab.tree.gitrepo import Repo

# Each topic with what it needs, in the order of the series.
NEEDS = {
    "fixes": (), "um": (), "prep": (), "vswap": ("fixes", "prep"),
    "writeback": ("fixes", "prep", "vswap"), "frees": ("prep",),
}  # fmt: skip
ORDERS = [list(NEEDS), ["fixes", "prep", "vswap", "frees"], ["prep", "um", "fixes"]]


class Mails:
    """A repository of the files of the base that the series touches, and the complete mails of each topic."""

    def __init__(self, directory: Path, source: linux.Source) -> None:
        line = stored.line(stored.ours(), linux.pristine(source))
        self.topics = export.topics(line.steps)
        steps = [mails.mailed(step) for step in line.steps]
        self._repo: Repo = gitline.scratch_repo(directory / "repo", line.base, steps)
        ids = self._repo.lines("rev-list", "--reverse", f"refs/heads/{gitline.BRANCH}")
        self._base = ids[0]
        self._files: dict[str, list[str]] = {}
        for number, step in enumerate(line.steps):
            argv = ("format-patch", "-q", *gitline.FORMAT, "-o", str(directory / str(number)))
            self._repo.git(*argv, f"{ids[number]}..{ids[number + 1]}")
            made = [str(path) for path in (directory / str(number)).iterdir()]
            self._files.setdefault(step.topic, []).extend(made)

    def apply(self, topics: Sequence[str]) -> str:
        """What git says about the mails of these topics, one topic after the other, on the base; "" is good."""
        self._repo.git("checkout", "-q", "-f", "--detach", self._base)
        files = [file for topic in topics for file in self._files[topic]]
        result = self._repo.git("am", "-q", *files, check=False)
        if result.returncode == 0:
            return ""
        self._repo.git("am", "--abort")
        return result.stdout + result.stderr


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Mails:
    source = linux.cached(REAL_CACHE / "source")
    if source is None:
        pytest.skip("no kernel source in the cache")
    return Mails(tmp_path_factory.mktemp("topics"), source)


def test_all_topics_are_known(series: Mails) -> None:
    assert series.topics == list(NEEDS)


@pytest.mark.parametrize("topic", NEEDS)
def test_topic_applies_on_what_it_needs(series: Mails, topic: str) -> None:
    assert series.apply([*NEEDS[topic], topic]) == ""


@pytest.mark.parametrize("topics", ORDERS)
def test_topics_apply_together(series: Mails, topics: list[str]) -> None:
    """The whole series; the last topic without the one before it; the first three in another order."""
    assert series.apply(topics) == ""


@pytest.mark.parametrize(("topic", "left_out"), [(topic, name) for topic in NEEDS for name in NEEDS[topic]])
def test_topic_needs_it(series: Mails, topic: str, left_out: str) -> None:
    """Without it some patch does not apply; or what is said to be needed is not."""
    assert "Patch failed" in series.apply([*(name for name in NEEDS[topic] if name != left_out), topic])


def test_documents_say_so() -> None:
    """The table in docs/work.md has the same; the cover letter names those that need nothing."""
    rows = (line.split("|") for line in (paths.repo_root() / "docs/work.md").read_text().splitlines())
    table = {row[1].strip(" `"): row[2] for row in rows if len(row) == 5 and row[1].strip(" `") in NEEDS}
    found = {topic: tuple(name for name in NEEDS if f"`{name}`" in cell) for topic, cell in table.items()}
    assert found == NEEDS
    cover = " ".join((paths.patches_dir() / stored.COVER).read_text().split())
    alone = ", ".join(topic for topic, needs in NEEDS.items() if not needs)
    assert f"Alone on the base apply: {alone}." in cover
