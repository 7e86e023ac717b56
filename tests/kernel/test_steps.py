# SPDX-License-Identifier: GPL-2.0
"""Each step of the series can be linked: its files use nothing that a later one defines.

tests/lab/test_series.py builds and boots all steps, which takes an hour; this takes seconds.
"""

from pathlib import Path

import pytest

from tests.kernel import layers
from vswaplab import paths
from vswaplab.series import mails, stored
from vswaplab.source import linux
from vswaplab.tree.overlay import Overlay

OURS = "mm/vswap/"
# Compiled with CONFIG_VSWAP_DEBUG only, which the step that adds verify.c adds as well.
CONDITIONAL = {"mm/vswap/sysfs.c uses vswap_verify of mm/vswap/verify.c"}


def texts(overlay: Overlay) -> dict[str, str]:
    """The sources in mm/ that the series touches; the unit tests come last and use what there is."""
    return {
        name: content.data.decode()
        for name, content in overlay.items()
        if content and name.startswith("mm/") and name.endswith((".c", ".h")) and "/tests/" not in name
    }


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, dict[str, str]]]:
    """Subject of each step, and the sources as they are then: those that a later one edits as in the base."""
    source = linux.cached(paths.cache_dir() / "source")
    if source is None:
        pytest.skip("no kernel source in the cache")
    line = stored.line(stored.ours(), linux.pristine(source))
    base = texts(line.base)
    return [(step.subject, {**base, **texts(mails.at(line, number))}) for number, step in enumerate(line.steps)]


def test_no_step_uses_what_comes_later(steps: list[tuple[str, dict[str, str]]]) -> None:
    last = steps[-1][1]
    assert {name for name in last if name.startswith(OURS)} > {f"{OURS}space.c", f"{OURS}vswap.h"}
    found = {subject: {str(use) for use in layers.early(step, last, OURS)} for subject, step in steps}
    assert {subject: uses for subject, uses in found.items() if uses - CONDITIONAL} == {}


def test_a_use_that_is_too_early(tmp_path: Path) -> None:
    last = {
        "mm/vswap/a.c": "int a(void)\n{\n\treturn b(c);\n}\n",
        "mm/vswap/b.c": "int b(int x)\n{\n\treturn x;\n}\n",
        "mm/zswap.c": "int c;\n",
    }
    assert layers.early(last, last, OURS) == set()
    step = {name: text for name, text in last.items() if name == "mm/vswap/a.c"}
    assert [str(use) for use in sorted(layers.early(step, last, OURS))] == [
        "mm/vswap/a.c uses b of mm/vswap/b.c", "mm/vswap/a.c uses c of mm/zswap.c",
    ]  # fmt: skip
