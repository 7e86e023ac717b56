# SPDX-License-Identifier: GPL-2.0
"""A strict parser of Prometheus' text format: what it does not know is an error."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\}})? (-?[0-9.e+]+)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"')
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def _unquoted(text: str) -> str:
    return re.sub(r'\\([\\n"])', lambda match: "\n" if match[1] == "n" else match[1], text)


def parse(text: str) -> tuple[Samples, dict[str, str]]:
    """Samples by name and labels, and the types. Raises AssertionError."""
    samples: Samples = {}
    types: dict[str, str] = {}
    helped: str | None = None
    assert text.endswith("\n")
    for line in text.splitlines():
        words = line.split(" ", 3)
        if words[0] == "#" and words[1] == "HELP":
            helped = words[2]
            assert helped not in types and words[3], line
        elif words[0] == "#" and words[1] == "TYPE":
            assert words[2] == helped and words[3] in ("gauge", "counter"), line
            types[helped] = words[3]
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1] == helped and helped in types, line
            labels = tuple((key, _unquoted(value)) for key, value in LABEL.findall(match[2] or ""))
            assert labels not in samples.setdefault(match[1], {}), line
            samples[match[1]][labels] = float(match[3])
    assert samples.keys() == types.keys()
    return samples, types
