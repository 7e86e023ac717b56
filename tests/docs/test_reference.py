# SPDX-License-Identifier: GPL-2.0
"""docs/reference.md names every knob and counter that the series defines, and no other."""

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from vswaplab import paths
from vswaplab.series import mail, stored

PAGE = paths.repo_root() / "docs" / "reference.md"
PREFIX = r'#define MODULE_PARAM_PREFIX\s+"([\w.]*)"'


def added(patches: Iterable[stored.Patch]) -> dict[str, list[str]]:
    """The lines that patches add to files and that no later one takes away again."""
    found: dict[str, list[str]] = {}
    for patch in patches:
        for part in re.split(r"^(?=diff --git )", patch.mail.diff.decode(), flags=re.MULTILINE)[1:]:
            lines = found.setdefault(mail.touched(part.encode())[0], [])
            for line in re.split(r"^@@.*$", part, maxsplit=1, flags=re.MULTILINE)[-1].splitlines():
                if line.startswith("+"):
                    lines.append(line[1:])
                elif line.startswith("-") and line[1:] in lines:
                    lines.remove(line[1:])
    return found


@functools.cache
def sources() -> dict[str, str]:
    """What the series adds: whole files, and the added lines of patches; comments are left out."""
    store = stored.ours()
    texts = {name: content.data.decode() for name, content in stored.new_files(store).items()}
    texts |= {name: "\n".join(lines) for name, lines in added(stored.load(store)).items() if name not in texts}
    found = {}
    for name, text in sorted(texts.items()):
        if name.endswith((".c", ".h")):
            found[name] = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        elif Path(name).name == "Kconfig":
            found[name] = text
    return found


def matches(pattern: str, under: str = "") -> set[str]:
    """The first group of every match in the sources whose name starts with ``under``."""
    return {
        match for name, text in sources().items() if name.startswith(under) for match in re.findall(pattern, text)
    }


def attributes() -> set[str]:
    """Files in sysfs: by the macros that make them."""
    made = matches(r"\b\w*ATTR(?:_RO|_RW|_WO)?\((\w+)", "mm/vswap/")
    return {name for name in made if not name.startswith("_")}


def boot_parameters() -> set[str]:
    """__setup() and the like, and parameters of modules with their prefix."""
    found = matches(r'\b(?:__setup|__setup_param|early_param)\("([\w.]+)=?"')
    for text in sources().values():
        named = re.findall(r"\b(?:module|core)_param(?:_named|_cb|_string)?\((\w+)", text)
        prefix = re.search(PREFIX, text)
        found |= {(prefix[1] if prefix else "") + name for name in named}
    return found


def debug_files() -> set[str]:
    """Files in debugfs, with the directory that is made for them in the same file."""
    found = set()
    for name, text in sources().items():
        directories = re.findall(r'debugfs_create_dir\(\s*"(\w+)"', text)
        files = re.findall(r'debugfs_create_(?!dir\b)\w+\(\s*"(\w+)"', text)
        assert len(directories) <= 1, f"{name}: the test knows one directory in a source file"
        found |= {"/".join([*directories, file]) for file in files}
    return found


def tracepoints() -> set[str]:
    """Events; classes of events are none."""
    return matches(r"\bTRACE_EVENT\w*\(\s*(\w+)") | matches(r"\bDEFINE_EVENT\w*\(\s*\w+,\s*(\w+)")


SECTIONS: dict[str, Callable[[], set[str]]] = {
    "Files in `/sys/kernel/mm/vswap`": attributes,
    "Boot parameters": boot_parameters,
    "Configuration of the kernel": lambda: matches(r"(?m)^(?:menu)?config (\w+)"),
    "Counters in `/proc/vmstat`": lambda: matches(r'\[I\(\w+\)\]\s*=\s*"(\w+)"'),
    "Keys in `memory.stat` of a control group": lambda: matches(r'\{\s*"(\w+)",\s*MEMCG_\w+'),
    "Tracepoints, group `vswap`": tracepoints,
    "Files in debugfs": debug_files,
}


def documented(section: str) -> set[str]:
    """The names in the first column of a section's table."""
    _, found, rest = PAGE.read_text().partition(f"\n## {section}\n")
    assert found, f"no section {section!r}"
    return set(re.findall(r"(?m)^\| `([^`]+)` \|", rest.partition("\n## ")[0]))


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_has_what_the_kernel_has(section: str) -> None:
    in_kernel = SECTIONS[section]()
    assert in_kernel, "nothing found in the sources: the test looks for the wrong thing"
    assert documented(section) == in_kernel


def test_events_have_names() -> None:
    """Every event of the enum has a text: a counter without one would be in no table."""
    events = {name.lower() for name in matches(r"(?m)^\s*(VSWAP_\w+),$", "include/linux/vm_event_item.h")}
    assert events == SECTIONS["Counters in `/proc/vmstat`"]()


def test_attributes_are_in_the_group() -> None:
    """Every attribute that is made is also in the array that sysfs gets."""
    assert matches(r"&(\w+)_attr\.attr", "mm/vswap/") == attributes()


ADDITIONS = {
    "Files in `/sys/kernel/mm/vswap`": "VSWAP_ATTR_RO(new, 1);",
    "Boot parameters": '__setup("new=", f);',
    "Counters in `/proc/vmstat`": '[I(NEW)] = "new",',
    "Keys in `memory.stat` of a control group": '{ "new", MEMCG_NEW },',
    "Tracepoints, group `vswap`": "TRACE_EVENT(new,",
}


@pytest.mark.parametrize("section", ADDITIONS)
def test_something_new_is_found(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test is for: a new knob or counter that the page lacks."""
    before = SECTIONS[section]()
    now = {**sources(), "mm/vswap/new.c": ADDITIONS[section]}
    monkeypatch.setattr(f"{__name__}.sources", lambda: now)
    assert SECTIONS[section]() - before == {"new"}
