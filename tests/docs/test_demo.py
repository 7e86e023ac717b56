# SPDX-License-Identifier: GPL-2.0
"""The recorded demonstration in docs/demo can be replayed."""

from vswaplab import paths
from vswaplab.demo import page, record
from vswaplab.demo.machines import MACHINES

DEMO = paths.repo_root() / "docs/demo"


def test_the_record_is_of_all_machines() -> None:
    found = record.read(DEMO / "record.json")
    assert [machine.name for machine in found.machines] == [machine.name for machine in MACHINES]
    assert all(len(machine.columns["t"]) > 100 and machine.phases for machine in found.machines)
    assert len(page.page(found).encode()) < 500_000
