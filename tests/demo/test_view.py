# SPDX-License-Identifier: GPL-2.0
"""What is drawn of a record."""

import pytest

from tests.demo import records
from vswaplab.demo import view

NAMES = ("mainline", "zram", "virtual swap")


@pytest.mark.parametrize("name", NAMES)
def test_memory_adds_up_to_all_there_is(name: str) -> None:
    plot = view.memory(records.recorded(name))
    sums = [sum(values) for values in zip(*(layer.values for layer in plot.stack), strict=True)]
    assert set(sums) == {records.TOTAL_KIB}
    assert ("metadata" in [layer.key for layer in plot.stack]) == (name == "virtual swap")


def test_more_parts_than_a_whole_leave_nothing() -> None:
    found = records.recorded("zram", mem_total_kib=1)
    rest = next(layer for layer in view.memory(found).stack if layer.key == "rest")
    assert set(rest.values) == {0}


@pytest.mark.parametrize("name", NAMES)
def test_slots_add_up_to_those_in_use(name: str) -> None:
    found = records.recorded(name)
    plot = view.slots(found)
    used = found.columns["slots_used" if name == "virtual swap" else "device_slots"]
    sums = [sum(values) for values in zip(*(layer.values for layer in plot.stack), strict=True)]
    assert sums == list(used)
    assert plot.stack[0].key == ("zram" if name == "zram" else "zswap")


def test_pages_in_zswap_that_have_no_slot_any_more() -> None:
    """The two counters are not read at once: what is more than the slots is not drawn."""
    found = records.recorded("mainline")
    columns = {**found.columns, "device_slots": [5.0] * len(found.columns["t"])}
    plot = view.slots(records.recorded("mainline", columns=columns))
    assert max(plot.stack[0].values) == 5 and min(plot.stack[1].values) == 0


def test_rates() -> None:
    times = [at / 8 for at in range(17)]
    assert view.rate(times, [80 * at for at in range(17)], 0.5)[1:] == [640] * 16
    burst = view.rate(times, [0] * 8 + [100] * 9, 0.5)
    assert burst[7] == 0 and burst[8] == 200 and burst[11] == 200 and burst[12:] == [0] * 5
    assert view.rate([1.0, 1.0], [0, 9], 0.5) == [0, 0], "no time, no rate"
    assert view.rate([1.0, 2.0], [9, 0], 0.5) == [0, 0], "a counter that seems to go backwards"
    assert view.rate([], [], 0.5) == []


@pytest.mark.parametrize("count", [0, 1, 2, 399, 400, 401, 1000, 100_000])
def test_thinning(count: int) -> None:
    chosen = view.thinning(count)
    assert len(chosen) == min(count, view.POINTS) and chosen == sorted(set(chosen))
    assert not count or (chosen[0], chosen[-1]) == (0, count - 1)


def test_stages_are_steps_where_they_are_known() -> None:
    found = view.machine(records.recorded("zram"))
    assert [(stage["name"], stage["begin"], stage["end"]) for stage in found["stages"]] == [
        ("swapcheck: fill", 0, 2), ("swapcheck: verify", 2, 4), ("redis-server", 4, 10),
    ]  # fmt: skip
    assert found["t"][0] == 0 and found["t"][-1] == 10


def test_a_machine_without_samples() -> None:
    found = view.machine(records.recorded("mainline", columns={"t": []}, phases=()))
    assert (found["t"], found["stages"]) == ([], [])


def test_a_counter_that_the_kernel_lacks_is_not_drawn() -> None:
    full = records.recorded("mainline")
    columns = {name: column for name, column in full.columns.items() if name != "zswpwb"}
    names = [line.key for line in view.rates(records.recorded("mainline", columns=columns)).lines]
    assert "zswpwb" not in names and "zswpin" in names
