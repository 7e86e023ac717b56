# SPDX-License-Identifier: GPL-2.0
"""The JSON document of a run: results, and everything one needs to repeat them."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vswaplab import hashing, paths
from vswaplab.bench import host, suites
from vswaplab.bench.case import Case
from vswaplab.bench.kernels import Kernel
from vswaplab.bench.plan import Plan
from vswaplab.bench.row import Row
from vswaplab.build import config
from vswaplab.errors import UsageError

FORMAT = 1
KEYS = ("machine", "kernels", "commit", "results")  # those that everybody may rely on


def _kernel(found: Kernel) -> dict[str, Any]:
    """Version and configuration: every option that is set, and a checksum over the whole text."""
    options = {name: value for name, value in config.parse(found.config).items() if value != "n"}
    return {
        "sources_sha256": found.sources,
        "release": found.release,
        "arch": found.built.arch,
        "flavour": found.built.flavour,
        "vswap": found.vswap,
        "image_sha256": hashing.of_file(found.built.image),
        "config_sha256": hashing.of_text(found.config),
        "config": {name: value for name, value in options.items() if "/" not in value},
    }


def document(
    plan: Plan, rows: Sequence[Row], argv: Sequence[str], *, cases_left: int = 0,
    against: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The whole document; see KEYS. Times are UTC.

    ``cases_left``: not finished, and not in the rows. ``against``: the comparison with a reference.
    """
    kernels: dict[str, Any] = {}
    for (name, flavour), found in plan.kernels.items():
        kernels[name if name not in kernels else f"{name} ({flavour})"] = _kernel(found)
    return {
        "format": FORMAT,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": host.describe(plan.options.arch),
        "commit": host.commit(),
        "command": host.command_line(argv),
        "options": asdict(plan.options),
        "order": list(plan.names),
        "cases_left": cases_left,
        "kernels": kernels,
        "results": [row.to_json() for row in rows],
        "against": against and {**against, "results": [row.to_json() for row in against["results"]]},
    }


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write it, whole or not at all; into what is not a file, such as /dev/stdout, directly."""
    data = (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
    paths.write_output(path, data)


def incomplete(data: bytes) -> bool:
    """Whether this is the JSON of a run whose cases are not all in it."""
    try:
        found = json.loads(data)
    except ValueError:
        return False
    return isinstance(found, dict) and bool(found.get("cases_left"))


def keeping(path: Path, content: Mapping[str, Any], is_incomplete: Callable[[bytes], bool]) -> Path:
    """Where to write ``content`` that was to go to ``path``.

    That is ``path`` itself, unless cases are missing from ``content`` and a file is there that
    ``is_incomplete`` does not call incomplete. Then it is NAME.incomplete.SUFFIX beside it.
    """
    if not content["cases_left"] or not path.is_file() or is_incomplete(path.read_bytes()):
        return path
    return path.with_name(f"{path.stem}.incomplete{path.suffix}")


def _add_published(rows: Sequence[dict[str, Any]]) -> None:
    """What others have published, in rows of before reports had it."""
    names = {suite.name for suite in suites.SUITES}
    for row in rows:
        if isinstance(row.get("published"), list) or row["suite"] not in names:
            continue
        found = suites.find(row["suite"]).published(Case(**row["options"]), row["metric"])
        row["published"] = [asdict(figure) for figure in found]


def read_json(path: Path) -> dict[str, Any]:
    """A document that write_json() wrote. Raises UsageError for anything else."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise UsageError(f"there is no {path}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(found, dict) or any(key not in found for key in (*KEYS, "order")):
        raise UsageError(f"{path} is not a report of vswap bench")
    if "compared" not in found:
        _add_published(found["results"])
    return found
