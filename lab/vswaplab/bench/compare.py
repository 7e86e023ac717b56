# SPDX-License-Identifier: GPL-2.0
"""Two runs as one document: each kernel's figures before and after, in the form of a run's own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vswaplab.bench.judge import compared, judge
from vswaplab.bench.row import Row
from vswaplab.errors import UsageError

Document = Mapping[str, Any]
Key = tuple[str, str, str, str]


def _key(row: Row) -> Key:
    return row.suite, row.setup, row.pressure, row.metric


def _row(old: Row, new: Row, kernel: str, names: tuple[str, str]) -> Row:
    """One metric of one kernel; the set-up tells which kernel."""
    before, after = old.kernels[kernel], new.kernels[kernel]
    return replace(
        new, setup=f"{new.setup} ({kernel})", base=names[0], other=names[1], published=(),
        ratios={names[1]: compared(after.values, before.values)},
        deterministic=new.compared.verdict == "one round",
        kernels={names[0]: before, names[1]: after},
        status=after.status if after.status != "ok" else before.status,
        vmstat={names[0]: old.vmstat.get(kernel, {}), names[1]: new.vmstat.get(kernel, {})},
    )  # fmt: skip


def runs(old: Document, new: Document, first: str, second: str) -> dict[str, Any]:
    """The comparison of two runs, ``old`` being the base. Raises UsageError when they share nothing.

    ``first`` and ``second`` name them. What only one of them has is left out.
    """
    names = (first, second) if first != second else (f"{first} (A)", f"{second} (B)")
    before = {_key(row): row for row in map(Row.from_json, old["results"])}
    kernels = [name for name in new["order"] if name in old["order"]]
    rows = [
        _row(before[_key(row)], row, kernel, names)
        for kernel in kernels
        for row in map(Row.from_json, new["results"])
        if _key(row) in before
    ]
    if not rows:
        raise UsageError("the two runs have no kernel and metric in common")
    judge(rows)
    both = {
        f"{name} in {run}": document["kernels"][name]
        for name in kernels
        for run, document in zip(names, (old, new), strict=True)
    }
    return {
        **new, "command": f"./vswap report {first}.json {second}.json", "order": list(names), "pair": list(names),
        "kernels": both,
        "commit": f"{old['commit']} … {new['commit']}",
        "results": [row.to_json() for row in rows], "against": None,
        "compared": {"machine": [old["machine"], new["machine"]], "options": [old["options"], new["options"]]},
    }  # fmt: skip


def differences(content: Document) -> list[str]:
    """What makes the two runs of a comparison less comparable."""
    found = []
    for what, (old, new) in content["compared"].items():
        changed = [key for key in new if old.get(key) != new[key] and key not in ("rounds", "warmup")]
        found += [f"{what}: the runs differ in {key}: {old.get(key)} and {new[key]}" for key in changed]
    return found
