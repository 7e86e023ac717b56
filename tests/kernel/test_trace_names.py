# SPDX-License-Identifier: GPL-2.0
"""Tags and reasons have their numbers and names in several places by hand: they agree."""

import re
from pathlib import Path

import pytest

from tests.kernel.layers import IGNORED
from vswaplab import paths

KERNEL = paths.kernel_dir()
EVENTS = KERNEL / "include/trace/events/vswap.h"
MODEL = paths.repo_root() / "tests/model/backing.pml"
SHIFT = 4  # of the tag in a word of the model


def constants(path: Path, enum: str) -> dict[str, int]:
    """An enum's constants; VSWAP_NR_..., which counts them, is left out."""
    body = re.search(rf"enum {enum}\s*\{{(.*?)\}}", IGNORED.sub(" ", path.read_text()), re.DOTALL)
    assert body, f"no enum {enum} in {path}"
    found, number = {}, 0
    for name, value in re.findall(r"(\w+)\s*(?:=\s*(\w+))?\s*(?:,|$)", body[1].strip()):
        number = int(value, 0) if value else number
        found[name] = number
        number += 1
    return {name: value for name, value in found.items() if not name.startswith("VSWAP_NR_")}


def symbols(text: str, macro: str) -> dict[str, str]:
    """What __print_symbolic() of a macro prints, by what it prints it for."""
    body = re.search(rf"#define {macro}\(.*?\n\n", text, re.DOTALL)
    assert body, f"no macro {macro}"
    return dict(re.findall(r'\{\s*(\w+),\s*"(\w+)"\s*\}', body[0]))


def named(found: dict[str, int]) -> dict[int, str]:
    """The names in a trace, by number: VSWAP_IN_MEMORY is "in_memory"."""
    return {value: name.removeprefix("VSWAP_").lower() for name, value in found.items()}


@pytest.fixture
def tags() -> dict[str, int]:
    return constants(KERNEL / "mm/vswap/backing.h", "vswap_tag")


def test_traces_name_all_tags(tags: dict[str, int]) -> None:
    shown = symbols(EVENTS.read_text(), "show_vswap_tag")
    assert {int(number): name for number, name in shown.items()} == named(tags)


def test_traces_name_all_reasons() -> None:
    reasons = constants(EVENTS, "vswap_reason")
    text = EVENTS.read_text()
    shown = symbols(text, "show_vswap_reason")
    assert {reasons[name]: word for name, word in shown.items()} == named(reasons)
    # Without this a program that reads a trace sees the name of the constant, and no number.
    assert re.findall(r"^TRACE_DEFINE_ENUM\((\w+)\);$", text, re.MULTILINE) == list(reasons)


def test_model_has_all_tags(tags: dict[str, int]) -> None:
    """The model keeps the tag above the rest of a word."""
    text = MODEL.read_text()
    mask = re.search(r"#define vswap_backing_tag\(word\) \(\(word\) & (\d+)\)", text)
    assert mask and int(mask[1]) == 0xF << SHIFT
    defined = dict(re.findall(r"^#define ([A-Z]+)\s+(\d+)\b", text, re.MULTILINE))
    names = [name.removeprefix("VSWAP_") for name in tags]
    assert {name: int(defined[name]) for name in names} == {
        name: tags[f"VSWAP_{name}"] << SHIFT for name in names
    }


def test_a_tag_that_is_not_named(tmp_path: Path) -> None:
    header = tmp_path / "h"
    header.write_text("enum vswap_tag { /* a, b */ VSWAP_A = 3, VSWAP_B, VSWAP_NR_TAGS };\n")
    assert named(constants(header, "vswap_tag")) == {3: "a", 4: "b"}
