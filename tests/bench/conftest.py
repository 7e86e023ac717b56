# SPDX-License-Identifier: GPL-2.0
"""A cache of its own for every test that may write there."""

from pathlib import Path

import pytest

from vswaplab import paths


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; nothing a test does reaches the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return paths.cache_dir()
