# SPDX-License-Identifier: GPL-2.0
"""The recorded demonstration in docs/demo: it can be replayed, and the documentation shows it."""

from vswaplab import paths
from vswaplab.demo import page, record
from vswaplab.demo.machines import MACHINES

DEMO = paths.repo_root() / "docs/demo"


def test_the_record_is_of_all_machines() -> None:
    found = record.read(DEMO / "record.json")
    assert [machine.name for machine in found.machines] == [machine.name for machine in MACHINES]
    assert all(len(machine.columns["t"]) > 100 and machine.phases for machine in found.machines)
    assert len(page.page(found).encode()) < 500_000


def test_the_picture_is_small_and_shown() -> None:
    data = (DEMO / "page.png").read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) < 150_000
    assert "(demo/page.png)" in (DEMO.parent / "run.md").read_text()
