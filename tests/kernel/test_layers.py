# SPDX-License-Identifier: GPL-2.0
"""mm/vswap/ has layers, which internal.h lists, and its code calls downwards only."""

import re
import shutil
from pathlib import Path

import pytest

from tests.kernel import layers
from vswaplab import paths
from vswaplab.series import stored


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mm/vswap/ as the series leaves it: the whole files of kernel/, and what patches make."""
    top = tmp_path_factory.mktemp("sources")
    for name, content in stored.new_files(stored.ours()).items():
        paths.write_file(top / name, content.data)
    return top / "mm" / "vswap"


@pytest.fixture
def copy(sources: Path, tmp_path: Path) -> Path:
    """The sources, to be spoiled."""
    return Path(shutil.copytree(sources, tmp_path / "vswap"))


def append(file: Path, code: str) -> None:
    file.write_text(file.read_text() + code)


def test_all_files_have_a_place(sources: Path) -> None:
    names = [path.name for path in sources.glob("*.c")]
    assert sorted(layers.order(sources)) == sorted(names)
    built = re.findall(r"(\w+)\.o\b", (sources / "Makefile").read_text())
    assert sorted(f"{name}.c" for name in built) == sorted(names)


def test_code_calls_downwards(sources: Path) -> None:
    assert [str(use) for use in layers.upward(sources)] == []


def test_the_graph_is_found(sources: Path) -> None:
    found = {str(use) for use in layers.uses(sources)}
    assert {
        "init.c uses vswap_grow_work of policy.c",  # a pointer
        "tables.c uses vswap_kick_grow of space.c",  # a call
        "verify.c uses vswap_refusals of refuse.c",  # a variable
        "policy.c uses vswap_ever_used of state.c",  # a macro defines it
        "sysfs.c uses vswap_mode_names of state.c",  # an array
        "policy.c uses __vswap_may_write_back of memcg.c",  # by an inline function
    } <= found
    assert len(found) > 100


@pytest.mark.parametrize(
    ("file", "code", "use"),
    [
        ("space.c", "void f(void)\n{\n\tvswap_set_mode(VSWAP_AUTO);\n}\n",
         "space.c uses vswap_set_mode of policy.c"),
        ("stats.c", "int f(struct swap_info_struct *si)\n{\n\treturn vswap_evacuate(si);\n}\n",
         "stats.c uses __vswap_evacuate of swapoff.c"),
        ("tables.c", "static DECLARE_WORK(work, vswap_grow_work);\n", "tables.c uses vswap_grow_work of policy.c"),
        ("memcg.c", "#ifdef NEVER\nstatic long f(void)\n{\n\treturn vswap_refusals.nr.counter;\n}\n#endif\n",
         "memcg.c uses vswap_refusals of refuse.c"),
    ],
)
def test_an_upward_use_is_found(copy: Path, file: str, code: str, use: str) -> None:
    append(copy / file, code)
    assert [str(found) for found in layers.upward(copy)] == [use]


@pytest.mark.parametrize(
    "defined",
    [
        "DEFINE_MUTEX(upper);", "LIST_HEAD(upper);", "DEFINE_PER_CPU(long, upper);", "int upper __read_mostly;",
        "DECLARE_WAIT_QUEUE_HEAD(upper);", "int upper ____cacheline_aligned_in_smp = 3;",
        "__printf(1, 2) void upper(const char *f, ...)\n{\n}",
        "__attribute__((noinline)) void upper(void)\n{\n}",
    ],
)  # fmt: skip
def test_definitions_are_found(copy: Path, defined: str) -> None:
    """What swapoff.c defines in one of these ways, state.c may not use, not even through an inline function."""
    append(copy / "swapoff.c", f"\n{defined}\n")
    append(copy / "internal.h", "\nstatic __always_inline void *g(void)\n{\n\treturn &upper;\n}\n")
    append(copy / "state.c", "\nvoid *f(void)\n{\n\treturn g();\n}\n")
    assert [str(found) for found in layers.upward(copy)] == ["state.c uses upper of swapoff.c"]


def test_comments_and_strings_use_nothing(copy: Path) -> None:
    append(copy / "state.c", '/* See vswap_set_mode(). */\nconst char *f = "vswap_set_mode"; // vswap_set_mode\n')
    assert layers.upward(copy) == []


def test_a_local_function_of_the_same_name_is_no_symbol(copy: Path) -> None:
    append(copy / "policy.c", "static void own(void)\n{\n}\n")
    append(copy / "state.c", "static void own(void)\n{\n}\nvoid f(void)\n{\n\town();\n}\n")
    assert layers.upward(copy) == []
