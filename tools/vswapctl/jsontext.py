# SPDX-License-Identifier: GPL-2.0
"""JSON as all commands print it."""

import json
from typing import Any

from vswapctl import units


def _valid(data: Any) -> Any:
    """The same with names that are no UTF-8 made text: a lone surrogate is no JSON to strict readers."""
    if isinstance(data, str):
        return units.text(data)
    if isinstance(data, dict):
        return {_valid(key): _valid(value) for key, value in data.items()}
    return [_valid(value) for value in data] if isinstance(data, (list, tuple)) else data


def dumps(data: Any) -> str:
    """Indented."""
    return json.dumps(_valid(data), indent=2)
