# SPDX-License-Identifier: GPL-2.0
"""Compiled functions are compared without addresses, line numbers and the compiler's serial numbers."""

import subprocess
from pathlib import Path

import pytest

from vswaplab.build import disasm
from vswaplab.errors import ToolError

FLAGS = ["-O2", "-mcmodel=large", "-fno-pie", "-fcf-protection=none", "-fno-stack-protector"]

SOURCE = """
void complain(const char *file, int line, const char *function);
int known(const char *name);
int one(int), two(int), three(int), four(int), five(int);
#define CHECK(x) do { if (x) complain("file.c", __LINE__, __func__); } while (0)

int warns(int x) { CHECK(x > 5); CHECK(x < -5); return x + 1; }
int counts(void) { static int seen; return ++seen; }
int says(void) { return known("first") + known("second"); }
static __attribute__((noinline)) int clone(int a, int unused) { return one(a) * 3; }
int calls(int a) { return clone(a, 5) + clone(a + 1, 7); }
double halves(double x) { return x * 0.3125; }
int loops(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += one(i); return sum; }
int chooses(int x)
{
	switch (x) {
	case 0: return one(x); case 1: return two(x); case 2: return three(x);
	case 3: return four(x); case 4: return five(x); case 5: return one(x) + 4;
	}
	return -1;
}
"""
BEFORE = """
int known(const char *name);
int other(int n);
int before(int x)
{
	static int seen = 4;
	switch (x) {
	case 0: return other(2); case 1: return other(5); case 2: return other(9) * 2;
	case 3: return other(1); case 4: return other(3); case 5: return other(7);
	}
	return known("something else") + seen++;
}
"""


def compiled(directory: Path, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "file.c").write_text(text)
    path = directory / "file.o"
    subprocess.run(["gcc", *FLAGS, "-c", "file.c", "-o", path], cwd=directory, check=True)
    return path


def different(tmp_path: Path, ours: str, base: str = SOURCE) -> set[str]:
    compiled(tmp_path / "ours", ours)
    compiled(tmp_path / "base", base)
    found = disasm.differences(["file.o"], tmp_path / "ours", tmp_path / "base")
    assert {item.source for item in found} <= {"file.c"}
    return {item.function for item in found}


def test_names() -> None:
    names = ["scan.isra.0.cold", "__already_done.12", "scan", "f.constprop.0.isra.0", "f.part.3", "f.cold"]
    assert [disasm.plain(name) for name in names] == ["scan", "__already_done", "scan", "f", "f", "f"]


def test_code_of_each_function(tmp_path: Path) -> None:
    found = disasm.functions(compiled(tmp_path, SOURCE))
    assert set(found) == {"warns", "counts", "says", "clone", "calls", "halves", "loops", "chooses"}
    assert any("__LINE__" in line for line in found["warns"])
    assert any(line.endswith("# 'second'") for line in found["says"])
    assert any("# seen" in line for line in found["counts"])
    assert any("table(L" in line for line in found["chooses"])
    assert any(line == "L1:" for line in found["loops"])
    assert not any("nop" in line for code in found.values() for line in code)


def test_what_comes_before_makes_no_difference(tmp_path: Path) -> None:
    """Addresses, lines, offsets of strings, of data and of tables have changed for all."""
    assert different(tmp_path, BEFORE + SOURCE) == {"before"}


@pytest.mark.parametrize(
    ("old", "new", "functions"),
    [
        ("x + 1", "x + 2", {"warns"}),
        ("x > 5", "x > 6", {"warns"}),
        ('"first"', '"third"', {"says"}),
        ("static int seen; return ++seen", "static int met; return ++met", {"counts"}),
        ("0.3125", "0.625", {"halves"}),
        ("case 2: return three(x);", "case 2: return two(x);", {"chooses"}),
        ("return one(x) + 4", "return two(x)", {"chooses"}),
        ("one(a) * 3", "one(a) * 5", {"clone"}),
        ("sum += one", "sum -= one", {"loops"}),
        ("halves", "quarters", {"halves", "quarters"}),
    ],
)
def test_a_change_is_found_where_it_is(tmp_path: Path, old: str, new: str, functions: set[str]) -> None:
    assert different(tmp_path, BEFORE + SOURCE.replace(old, new), BEFORE + SOURCE) == functions


def test_who_has_it(tmp_path: Path) -> None:
    compiled(tmp_path / "ours", BEFORE)
    compiled(tmp_path / "base", "int gone(void) { return 1; }")
    ours, base = disasm.differences(["file.o"], tmp_path / "ours", tmp_path / "base")
    assert (ours.function, ours.base) == ("before", None) and ours.ours
    assert (base.function, base.ours) == ("gone", None) and base.base


def test_not_an_object(tmp_path: Path) -> None:
    (tmp_path / "file.o").write_bytes(b"!<arch>\n" + bytes(64))
    with pytest.raises(ToolError, match=r"file\.o is not an object file"):
        disasm.functions(tmp_path / "file.o")


def test_objects_of_edited_files(tmp_path: Path) -> None:
    for name in ("mm/zswap.o", "mm/vswap/own.o", "arch/um/a.o"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    edits = ["mm/zswap.c", "mm/not_built.c", "mm/swap.h", "arch/um/a.c"]
    assert disasm.edited_objects(edits, tmp_path) == ["mm/zswap.o"]
