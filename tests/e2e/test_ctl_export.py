# SPDX-License-Identifier: GPL-2.0
"""vswapctl export in a guest, scraped over HTTP and read by Prometheus' own parser: the kernel's own counters."""

from typing import Any

import pytest
from prometheus_client import parser

from tests.e2e.common import MIB, Boot, answer
from tests.e2e.ctl import PRELUDE, PROGRAM, in_guest

Samples = dict[str, dict[str, float]]  # by name and the label's value, "" without a label
SCRIPT = (
    PRELUDE
    + f"""
on_device 8M; filled 56M
{in_guest("scrape")} {PROGRAM} $CG/a/memory.reclaim > $RESULTS/scrapes.json
verified
"""
)
SLACK = 2 * MIB  # of sizes: the scrape itself takes memory
BACKINGS = {"zero": "zero", "zswap": "zswap", "device": "physical", "cached": "cached"}


def samples(text: str) -> Samples:
    """By the parser that comes with Prometheus' client; each has a help text and a type."""
    found: Samples = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation and family.type in ("gauge", "counter"), family
        for sample in family.samples:
            assert len(sample.labels) <= 1, sample
            values = found.setdefault(sample.name, {})
            values["".join(sample.labels.values())] = sample.value
    return found


def table(text: str) -> dict[str, int]:
    """A file of names and numbers; kB become bytes."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0].rstrip(":"): int(words[1]) << (10 if words[2:] == ["kB"] else 0) for words in lines}


def expected(files: dict[str, str], virtual: bool) -> dict[tuple[str, str], int]:
    """Sizes in bytes that the kernel's files tell, by name and label."""
    meminfo, device = table(files["meminfo"]), files["swaps"].splitlines()[1].split()
    found = {
        ("vswap_memory_total_bytes", ""): meminfo["MemTotal"],
        ("vswap_zswap_stored_bytes", ""): meminfo["Zswapped"],
        ("vswap_zswap_pool_bytes", ""): meminfo["Zswap"],
        ("vswap_device_size_bytes", device[0]): int(device[2]) << 10,
        ("vswap_device_used_bytes", device[0]): int(device[3]) << 10,
    }
    if virtual:
        found |= {("vswap_slot_bytes", key): int(files[name]) << 12 for key, name in BACKINGS.items()}
        found[("vswap_metadata_bytes", "")] = int(files["metadata_bytes"])
    return found


def check(scrape: dict[str, Any], virtual: bool) -> Samples:
    """All values of one scrape are between what the kernel said before it and after it."""
    assert scrape["type"].startswith("text/plain; version=0.0.4")
    found = samples(scrape["text"])
    before, after = (table(scrape[when]["vmstat"]) for when in ("before", "after"))
    pages = found["vswap_pages_total"]
    assert {"pswpout", "pswpin", "zswpout", "zswpin", "zswpwb"} <= pages.keys()
    for event, value in pages.items():
        assert before[event] <= value <= after[event], event
    ends = [expected(scrape[when], virtual) for when in ("before", "after")]
    for name, label in ends[0]:
        bounds = sorted(end[name, label] for end in ends)
        assert bounds[0] - SLACK <= found[name][label] <= bounds[1] + SLACK, (name, label, bounds, found[name])
    assert found["vswap_available"][""] == virtual == ("vswap_slot_bytes" in found)
    assert found["vswap_memory_total_bytes"][""] == ends[0]["vswap_memory_total_bytes", ""]
    return found


@pytest.mark.parametrize(
    "kernel",
    [pytest.param(name, marks=pytest.mark.kernel(name, "um", "release")) for name in ("vswap", "mainline")],
)
def test_scraped(boot_guest: Boot, kernel: str) -> None:
    """Three times, with more swapped out each time; on mainline it says that there is no virtual swap."""
    result = boot_guest(SCRIPT, kernel=kernel, flavour="release", swap="file:128M", mode="always")
    assert answer(result, "first.json")["verified"] is answer(result, "out.json")["verified"] is True
    seen = answer(result, "scrapes.json")
    found = [check(scrape, kernel == "vswap") for scrape in seen["scrapes"]]
    stored = [scrape["vswap_zswap_stored_bytes"][""] for scrape in found]
    assert stored == sorted(stored) and stored[-1] >= stored[0] + 4 * MIB, stored
    counted = [scrape["vswap_pages_total"]["zswpout"] for scrape in found]
    assert counted[-1] - counted[0] >= 4 * MIB // 4096, counted
    used = sum(found[-1]["vswap_device_used_bytes"].values())
    assert used > 4 * MIB and (kernel == "vswap" or used >= stored[-1])  # there zswap's pages take space, too
    if kernel == "vswap":
        assert found[-1]["vswap_mode"] == {"never": 0, "auto": 0, "always": 1}
        assert found[-1]["vswap_slot_bytes"]["device"] > 4 * MIB
    assert found[-1]["vswap_group_zswap_bytes"]["/a"] > 0
    assert seen["code"] == 130 and seen["err"] == "vswapctl: interrupted\n"
