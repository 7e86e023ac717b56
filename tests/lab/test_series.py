# SPDX-License-Identifier: GPL-2.0
"""The patch series: cut as kernel/SERIES says, everything exactly once, each step builds."""

from pathlib import Path

import pytest

from tests.lab import fakes
from tests.lab.conftest import REAL_CACHE
from vswaplab import paths
from vswaplab.errors import BuildError, TreeError, UsageError
from vswaplab.series import cut, seriesfile
from vswaplab.source import linux
from vswaplab.tree import overlay
from vswaplab.tree.gitrepo import Repo

SERIES = """\
# how the series is cut
cover: mm: virtual swap

  First paragraph.

  Second one.

patch: mm/swap: add a hook

  Why it is needed.

files:
  mm/swap.c.patch 1

patch: mm/vswap: the first half
files:
  mm/vswap/space.c /one|three/
  mm/swap.c.patch

patch: mm/vswap: the rest
files:
  mm/vswap/space.c
"""

REAL_KERNEL = paths.kernel_dir()

pytestmark = pytest.mark.usefixtures("stored", "configs")


@pytest.fixture
def ordered(kernel: Path) -> Path:
    (kernel / "SERIES").write_text(SERIES)
    return kernel


def test_series(ordered: Path, base: Path, tmp_path: Path) -> None:
    written = cut.write(tmp_path / "out")
    assert [path.name for path in written] == [
        "0000-cover-letter.patch",
        "0001-mm-swap-add-a-hook.patch",
        "0002-mm-vswap-the-first-half.patch",
        "0003-mm-vswap-the-rest.patch",
    ]
    cover = written[0].read_text()
    assert "Subject: [PATCH 0/3] mm: virtual swap" in cover
    assert "First paragraph.\n\nSecond one.\n" in cover
    assert "***" not in cover
    first = written[1].read_text()
    assert "Why it is needed." in first
    assert "+hook one" in first
    assert "hook two" not in first

    repo = Repo(base)
    repo.init()
    repo.git("add", "-A", "-f")
    repo.commit("base\n")
    repo.git("am", "-q", *(str(path) for path in written[1:]))
    assert (base / "mm/vswap/space.c").read_text() == "int one;\nint two;\nint three;\n"
    repo.git("checkout", "-q", "HEAD~1")
    assert (base / "mm/vswap/space.c").read_text() == "int one;\nint three;\n"
    repo.git("checkout", "-q", "HEAD~1")
    assert not (base / "mm/vswap").exists()
    lines = (base / "mm/swap.c").read_text().splitlines()
    assert "hook one" in lines
    assert "hook two" not in lines


def test_removed_file_and_new_mode(ordered: Path, base: Path, tmp_path: Path) -> None:
    fakes.write_tree(
        ordered,
        {
            "mm/gone.c.patch": "diff --git a/mm/gone.c b/mm/gone.c\ndeleted file mode 100644\n--- a/mm/gone.c\n"
            "+++ /dev/null\n@@ -1 +0,0 @@\n-to be removed\n",
            "mm/other.c.patch": "diff --git a/mm/other.c b/mm/other.c\nold mode 100644\nnew mode 100755\n",
            "SERIES": SERIES + "  mm/gone.c.patch\n  mm/other.c.patch\n",
        },
    )
    last = cut.write(tmp_path / "out")[-1].read_text()
    assert "deleted file mode 100644" in last
    assert "new mode 100755" in last


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  mm/vswap/space.c\n", "  mm/vswap/space.c /one/\n", r"part 1 of mm/vswap/space.c is in patches"),
        ("  mm/swap.c.patch\n", "", r"part 2 of mm/swap.c.patch is in no patch"),
        ("/one|three/", "/nothing/", r"nothing in mm/vswap/space.c is left for"),
        ("/one|three/", "", r"nothing in mm/vswap/space.c is left for"),
        ("mm/swap.c.patch 1", "mm/swap.c.patch 1,3", r"has 2 parts, not 3"),
        ("mm/swap.c.patch 1", "mm/missing.c 1", r"mm/missing.c, which kernel/ does not have"),
        ("mm/swap.c.patch 1", "mm/swap.c.patch 1-x", r"SERIES line 13: "),
        ("/one|three/", "/one(/", r"SERIES line 17: "),
        ("cover: mm", "covers: mm", r"SERIES line 2: expected cover:"),
        ("# how", "  how", r"SERIES line 1: text before"),
        ("patch: mm/vswap: the rest\n", "patch:\n", r"needs a subject and files"),
    ],
)
def test_bad_series(ordered: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SERIES.replace(old, new, 1)
    assert text != SERIES
    (ordered / "SERIES").write_text(text)
    with pytest.raises(TreeError, match=message):
        cut.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_series(kernel: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="no kernel/SERIES"):
        cut.write(tmp_path / "out")


def test_target_in_the_way(ordered: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not an empty directory"):
        cut.write(ordered)


def test_every_step_is_built(ordered: Path, tmp_path: Path) -> None:
    """The second patch breaks the build and the third repairs it: that must be noticed."""
    cut.write(tmp_path / "good", build_steps=True)
    patch = ordered / "mm/swap.c.patch"
    broken = patch.read_text().replace("+hook one\n", "+BROKEN\n", 1)
    patch.write_text(broken)
    with pytest.raises(BuildError, match=r"patch 1 \(mm/swap: add a hook\)"):
        cut.write(tmp_path / "bad", build_steps=True)
    assert not (tmp_path / "bad").exists()


def test_the_last_step_is_kernel(ordered: Path, base: Path) -> None:
    found = cut.changes(ordered, base)
    order = seriesfile.load(ordered)
    cut.assign(found, order)
    assert cut.overlay_at(found, len(order.patches) - 1) == overlay.render(ordered, base)
    assert set(cut.overlay_at(found, 0)) == {"mm/swap.c"}


def test_the_real_series_covers_kernel() -> None:
    """Whoever changes kernel/ says in kernel/SERIES which patch carries the change."""
    if not (REAL_KERNEL / "SERIES").is_file():
        pytest.skip("there is no kernel/SERIES")
    found = linux.cached(REAL_CACHE / "source")
    if found is None:
        pytest.skip("no kernel source in the cache")
    base = linux.pristine(found)
    changes = cut.changes(REAL_KERNEL, base)
    order = seriesfile.load(REAL_KERNEL)
    cut.assign(changes, order)
    assert cut.overlay_at(changes, len(order.patches) - 1) == overlay.render(REAL_KERNEL, base)
