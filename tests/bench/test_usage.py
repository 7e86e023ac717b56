# SPDX-License-Identifier: GPL-2.0
"""What is said before anything runs."""

import os
from pathlib import Path

import pytest

from tests.bench import fakes
from tests.lab.fakes import kernel_base, write_tree
from vswaplab import cli
from vswaplab.bench import check, host, kernels, round
from vswaplab.bench.case import Case, Options
from vswaplab.bench.kernels import Choice
from vswaplab.errors import ToolError, UsageError
from vswaplab.guest import GuestResult, GuestSpec
from vswaplab.tree import patchset, usertree

PATCH = "--- a/mm/swap.c\n+++ b/mm/swap.c\n@@ -1,3 +1,3 @@\n line 1\n-line 2\n+line two\n line 3\n"


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["usemem1", "--setups", "nonsense"],
        ["usemem1", "--setups", ","],
        ["usemem1", "--pressure", "nonsense"],
        ["usemem1", "--mglru", "perhaps"],
        ["usemem1", "--page-cluster", "many"],
        ["usemem1", "--against", "zram"],
        ["usemem1", "--against", "zram@windows"],
        ["usemem1", "--setups", "zram", "--against", "zram@mainline"],
        ["usemem1", "--page-cluster", "3,32"],
        ["usemem1", "--page-cluster", "-1"],
        ["usemem1", "--kernels", "windows"],
        ["usemem1", "--kernels", "vswap,vswap"],
        ["usemem1", "--kernel", "nonsense"],
        ["usemem1", "--kernel", "vswap=/tmp"],
        ["usemem1", "--kernel", "theirs=/nonexistent"],
        ["usemem1", "--rounds", "0"],
        ["usemem1", "--rounds", "many"],
        ["usemem1", "--warmup", "-1"],
        ["usemem1", "--warmup", "0"],
        ["usemem1", "--mem", "nonsense"],
        ["usemem1", "--arch", "vax"],
        ["usemem1", "--json", "/nonexistent/out.json"],
        ["usemem1", "--html", "/"],
        ["usemem1", "--resume", "--fresh"],
        ["swapoff", "--setups", "zswap"],
    ],
)
@pytest.mark.usefixtures("cache")
def test_bad_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("vswap: ") and captured.err.count("\n") == 1


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--list"]) == 0
    out = capsys.readouterr().out
    for name in ("usemem1", "redis-bgsave", "zswap-full", "pmem"):
        assert name in out


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UsageError, match="memhog .Debian: numactl.*redis-server"):
        check.programs(["memhog", "redis", "usemem1"])


def test_a_kernel_that_does_not_boot(tmp_path: Path) -> None:
    built = fakes.kernel("vswap", tmp_path).built
    lost = GuestResult(status="lost", console="first\nNo init found\n")
    with pytest.raises(UsageError, match="does not boot.*No init found"):
        check.trial(built, lambda _spec: lost)

    def missing(_spec: GuestSpec) -> GuestResult:
        raise ToolError("it is not a program")

    with pytest.raises(UsageError, match="not a program"):
        check.trial(built, missing)


def test_a_trial_tells_what_the_kernel_is(tmp_path: Path) -> None:
    built = fakes.kernel("theirs", tmp_path).built
    result = fakes.ended({"vswap": "yes\n", "config": "# a\nCONFIG_X=y\n"}, hello={"release": "7.3.4-theirs"})
    found = check.trial(built, lambda _spec: result)
    assert found.vswap and found.release == "7.3.4-theirs" and "CONFIG_X=y" in found.config
    with pytest.raises(UsageError, match="lacks.*zswap"):
        check.trial(built, lambda _spec: fakes.ended({"lacks": "zswap\n"}))


def test_too_little_memory_or_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = round.spec(fakes.CASE, fakes.kernel("mainline", tmp_path), Options(), tmp_path)
    monkeypatch.setattr(host, "memory_bytes", lambda _name: 256 << 20)
    with pytest.raises(UsageError, match="--mem"):
        check.room([spec])
    monkeypatch.setattr(host, "memory_bytes", lambda _name: 1 << 40)
    monkeypatch.setattr(check, "SPARE_DISK", 1 << 60)
    with pytest.raises(UsageError, match="TMPDIR"):
        check.room([spec])


def test_a_compressor_that_a_kernel_lacks(tmp_path: Path) -> None:
    tried = fakes.kernel("vswap", tmp_path)
    case = Case("usemem1", "zswap", "memcg", "zstd")
    with pytest.raises(UsageError, match="zstd"):
        check.settings([case], [tried])
    check.settings([Case("usemem1", "zswap", "memcg", "lz4", True)], [tried])
    with pytest.raises(UsageError, match="zram has no compressor 'lz4'"):
        check.settings([Case("usemem1", "zram", "global", "lz4")], [tried])


def test_kinds_of_kernels(tmp_path: Path) -> None:
    write_tree(tmp_path, {"tree/MAINTAINERS": "", "tree/Kbuild": "", "series/0001-a.patch": PATCH})
    (tmp_path / "vmlinux").write_bytes(b"\x7fELF")
    kinds = {name: kernels.parse(f"x={tmp_path / name}").kind for name in ("tree", "series", "vmlinux")}
    assert kinds == {"tree": "tree", "series": "patches", "vmlinux": "image"}
    (tmp_path / "text").write_text("no kernel")
    with pytest.raises(UsageError, match="neither"):
        kernels.parse(f"x={tmp_path / 'text'}")
    (tmp_path / "vmlinux").chmod(0o755)
    image = Choice("x", "image", tmp_path / "vmlinux")
    assert kernels.get(image, "um", "release").image == tmp_path / "vmlinux"
    with pytest.raises(UsageError, match="x86_64"):
        kernels.get(image, "x86_64", "release")


def test_patches_apply_in_order_and_the_base_is_not_touched(tmp_path: Path) -> None:
    base = kernel_base(tmp_path / "base")
    before = (base / "mm/swap.c").read_text()
    second = PATCH.replace("line 2\n", "line two\n").replace("+line two", "+line 2nd")
    new = "--- /dev/null\n+++ b/mm/new.c\n@@ -0,0 +1 @@\n+int new;\n"
    files = {"0000-cover.patch": "text\n", "0001-a.patch": PATCH, "0002-b.patch": second, "0003-c.patch": new}
    series = write_tree(tmp_path / "series", files)
    changes = patchset.applied(patchset.patches(series), base, {})
    assert sorted(changes) == ["mm/new.c", "mm/swap.c"]
    swap, added = changes["mm/swap.c"], changes["mm/new.c"]
    assert swap and swap.data.startswith(b"line 1\nline 2nd\nline 3\n")
    assert added and added.data == b"int new;\n"
    assert (base / "mm/swap.c").read_text() == before and not (base / "mm/new.c").exists()


def test_a_patch_that_does_not_apply_is_named(tmp_path: Path) -> None:
    base = kernel_base(tmp_path / "base")
    series = write_tree(tmp_path / "series", {"1.patch": PATCH, "2.patch": PATCH})
    with pytest.raises(UsageError, match="2.patch does not apply"):
        patchset.applied(patchset.patches(series), base, {})
    outside = write_tree(tmp_path / "bad", {"1.patch": PATCH.replace("mm/swap.c", "../../swap.c")})
    with pytest.raises(UsageError, match="not in a kernel tree"):
        patchset.applied(patchset.patches(outside), base, {})


def test_a_users_tree_is_copied_and_followed(tmp_path: Path) -> None:
    tree, target = kernel_base(tmp_path / "tree"), tmp_path / "copy"
    with usertree.copied(tree, target) as first:
        pass
    (target / "mm/swap.o").write_text("built")
    (tree / "mm/swap.c").write_text("edited\n")
    (tree / "mm/gone.c").unlink()
    with usertree.copied(tree, target) as second:
        pass
    assert first.identity != second.identity and second.path == target
    assert (target / "mm/swap.c").read_text() == "edited\n"
    assert not (target / "mm/gone.c").exists() and (target / "mm/swap.o").is_file()
    assert (target / "mm/other.c").stat().st_mtime_ns == (tree / "mm/other.c").stat().st_mtime_ns
    (tree / ".config").write_text("")
    with pytest.raises(UsageError, match="mrproper"), usertree.copied(tree, target):
        pass


def test_a_busy_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.1, 0.0, 0.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    assert check.warnings(2) == []
    monkeypatch.setattr(os, "getloadavg", lambda: (5.0, 0.0, 0.0))
    assert len(check.warnings(4)) == 2
