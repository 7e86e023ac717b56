# SPDX-License-Identifier: GPL-2.0
"""Building: what is built, what is skipped, what only an edit makes happen again.

The kernel is a small tree with a Makefile that knows the targets the lab uses; make is real.
"""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab import fakes
from vswaplab import paths
from vswaplab.bench import kernels as choices
from vswaplab.build import kbuild
from vswaplab.errors import BuildError, ConfigError, TreeError, UsageError
from vswaplab.series.stored import Store
from vswaplab.source import linux
from vswaplab.tree import buildtree, usertree
from vswaplab.tree.overlay import Content

pytestmark = pytest.mark.usefixtures("stored", "store", "configs")

THEIRS = "--- a/mm/swap.c\n+++ b/mm/swap.c\n@@ -1,3 +1,3 @@\n-line 1\n+their line\n line 2\n line 3\n"


class Log:
    """A Progress that remembers its stages."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def update(self, stage: str, done: int = 0, total: int = 0) -> None:
        if stage not in self.stages:
            self.stages.append(stage)


def test_build_and_skip(cache: Path) -> None:
    first = Log()
    built = kbuild.build("vswap", "um", "release", progress=first)
    assert built.image == built.dir / "vmlinux"
    assert b"hook one" in built.image.read_bytes()
    assert built.release == "7.3.4-vswap"
    assert built.config.read_text().count("CONFIG_VSWAP=y") == 1
    assert "building vswap-um-release" in first.stages
    assert (cache / "log/build-vswap-um-release.log").read_text().startswith("$ make -j")

    again = Log()
    assert kbuild.build("vswap", "um", "release", progress=again) == built
    assert again.stages == []


def test_three_kernels(stored: linux.Source) -> None:
    ours = kbuild.build("vswap", "x86_64", "debug")
    assert ours.image == ours.dir / "arch/x86/boot/bzImage"
    off = kbuild.build("vswap-off", "um", "release")
    assert off.dir.parent == ours.dir.parent, "vswap-off is our tree"
    assert "CONFIG_VSWAP=y" not in off.config.read_text()
    plain = kbuild.build("mainline", "um", "release")
    assert b"hook" not in plain.image.read_bytes()
    assert (plain.dir.parent / "mm/swap.c").read_text() == fakes.SWAP_C
    pristine = linux.pristine(stored)
    assert (pristine / "mm/swap.c").read_text() == fakes.SWAP_C, "shared by links, never written to"
    assert not (pristine / "mm/vswap").exists()
    assert (plain.dir.parent / "arch/um/tlb.c").read_text() == "flush\nwait\n", "the topic um is in mainline, too"


def test_the_bench_flavour(bench: Path) -> None:
    """Both kernels get the benchmark, in trees of their own, beside what the series changes."""
    ours = kbuild.build("vswap", "um", "bench")
    assert ours.dir.parent.name == "vswap-bench"
    text = ours.image.read_bytes()
    assert b"hook one" in text and b"bench hook" in text
    options = ours.config.read_text()
    assert "CONFIG_SWAP_BENCH=y" in options and "CONFIG_A=y" not in options, "release, and more"
    plain = kbuild.build("mainline", "um", "bench")
    assert b"hook one" not in plain.image.read_bytes() and b"bench hook" in plain.image.read_bytes()
    assert (plain.dir.parent / "mm/swap_bench.c").exists()
    assert b"bench hook" not in kbuild.build("vswap", "um", "release").image.read_bytes()


def test_an_edit_of_the_benchmark_rebuilds_that_flavour_only(bench: Path) -> None:
    names = [("mainline", "um", flavour) for flavour in ("bench", "release")]
    before = [kbuild.build(*name).image.stat().st_mtime_ns for name in names]
    patch = bench / "mm/swap.c.patch"
    patch.write_text(patch.read_text().replace("bench hook", "bench edit"))
    after = [kbuild.build(*name).image.stat().st_mtime_ns for name in names]
    assert after[0] > before[0] and after[1] == before[1]


def test_a_bench_patch_that_does_not_apply(bench: Path) -> None:
    patch = bench / "mm/swap.c.patch"
    patch.write_text(patch.read_text().replace(" line 23", " line xx"))
    with pytest.raises(TreeError, match="^kernel-bench/mm/swap.c.patch does not apply .* hunk 1"):
        kbuild.build("mainline", "um", "bench")


def test_a_series_of_somebody_gets_the_benchmark_too(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/0001.patch").write_text(THEIRS)
    choice = choices.parse(f"theirs={tmp_path / 'theirs'}")
    texts = {flavour: choices.get(choice, "um", flavour).image.read_bytes() for flavour in ("bench", "release")}
    assert b"their line" in texts["bench"] and b"bench hook" in texts["bench"]
    assert b"their line" in texts["release"] and b"bench hook" not in texts["release"]


def objects(built: kbuild.BuiltKernel) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (built.dir / "mm").iterdir()}


def test_some_objects_only() -> None:
    """A kernel of which some objects were compiled is not taken for a whole one, nor made again when it is."""
    log = Log()
    found = kbuild.build_objects("vswap", "um", "release", ["mm/swap.o"], progress=log)
    assert [path.name for path in (found / "mm").iterdir()] == ["swap.o"]
    assert b"hook one" in (found / "mm/swap.o").read_bytes()
    assert "compiling 1 files of vswap-um-release" in log.stages

    built = kbuild.build("vswap", "um", "release")
    assert built.dir == found and b"hook one" in built.image.read_bytes()
    before = objects(built)
    again = Log()
    assert kbuild.build_objects("vswap", "um", "release", ["mm/swap.o"], progress=again) == found
    assert again.stages == [] and objects(built) == before
    assert kbuild.build("vswap", "um", "release", progress=again) == built and again.stages == []


def test_objects_of_an_older_source(store: Store) -> None:
    """They are compiled again, and the whole kernel of before is not taken for one of this source."""
    built = kbuild.build("vswap", "um", "release")
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace("hook one", "hook changed"))
    found = kbuild.build_objects("vswap", "um", "release", ["mm/swap.o"])
    assert b"hook changed" in (found / "mm/swap.o").read_bytes()
    assert b"hook one" in built.image.read_bytes()
    patch.write_text(patch.read_text().replace("hook changed", "hook one"))
    log = Log()
    assert kbuild.build("vswap", "um", "release", progress=log) == built and log.stages != []


def test_an_edit_rebuilds_what_it_touches(store: Store) -> None:
    built = kbuild.build("vswap", "um", "release")
    before = objects(built)
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace("hook one", "hook changed"))
    assert b"hook changed" in kbuild.build("vswap", "um", "release").image.read_bytes()
    after = objects(built)
    assert after["swap.o"] > before["swap.o"]
    assert after["other.o"] == before["other.o"]


def test_a_message_rebuilds_nothing(store: Store) -> None:
    built = kbuild.build("vswap", "um", "release")
    before = built.image.stat().st_mtime_ns
    patch = store.patches / fakes.HOOK
    patch.write_text(patch.read_text().replace("Why it is needed.", "Why, in other words."))
    assert kbuild.build("vswap", "um", "release").image.stat().st_mtime_ns == before


def test_a_reverted_edit_is_rebuilt(store: Store) -> None:
    """The base's file is older than the object made from our version of it."""
    assert b"hook" in kbuild.build("vswap", "um", "release").image.read_bytes()
    (store.patches / fakes.HOOK).unlink()
    assert b"hook one" not in kbuild.build("vswap", "um", "release").image.read_bytes()


def test_another_checkout_takes_the_tree(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sources come after ours were put there, and before ours are compiled."""
    real = buildtree.source_tree
    patch = store.patches / fakes.HOOK
    ours = patch.read_text()

    def taken(kernel: str, flavour: str, **options: Any) -> buildtree.Tree:
        monkeypatch.setattr(kbuild, "source_tree", real)
        tree = real(kernel, flavour, **options)
        patch.write_text(ours.replace("hook one", "hook of others"))
        assert b"hook of others" in kbuild.build("vswap", "um", "release").image.read_bytes()
        patch.write_text(ours)
        return tree

    monkeypatch.setattr(kbuild, "source_tree", taken)
    assert b"hook one" in kbuild.build("vswap", "um", "release").image.read_bytes()


def test_other_patches_of_the_same_name_take_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs call their patches alike: each measures its own."""
    for name, line in (("one", "their line"), ("two", "another line")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0001.patch").write_text(THEIRS.replace("their line", line))
    real = buildtree.prepared_tree

    def taken(*args: Any, **options: Any) -> buildtree.Tree:
        monkeypatch.setattr(buildtree, "prepared_tree", real)
        tree = real(*args, **options)
        others = choices.get(choices.parse(f"x={tmp_path / 'two'}"), "um", "release")
        assert b"another line" in others.image.read_bytes()
        return tree

    monkeypatch.setattr(buildtree, "prepared_tree", taken)
    ours = choices.get(choices.parse(f"x={tmp_path / 'one'}"), "um", "release")
    assert b"their line" in ours.image.read_bytes()


def test_a_copied_tree_stays_while_it_is_compiled(base: Path, tmp_path: Path) -> None:
    """Another run, with another tree of the same name, waits."""

    def other() -> None:
        with usertree.copied(base, tmp_path / "target"):
            pass

    others = threading.Thread(target=other)
    with usertree.copied(base, tmp_path / "target"):
        others.start()
        others.join(0.5)
        assert others.is_alive()
    others.join(20)
    assert not others.is_alive()


def test_a_tree_stays_while_it_is_compiled(store: Store) -> None:
    """Another checkout waits, one with the same sources does not."""
    patch = store.patches / fakes.HOOK
    others = threading.Thread(target=buildtree.source_tree, args=("vswap",))
    with buildtree.kept(buildtree.source_tree("vswap")) as same:
        assert same and buildtree.source_tree("vswap").path.is_dir()
        patch.write_text(patch.read_text().replace("hook one", "hook of others"))
        others.start()
        others.join(0.5)
        assert others.is_alive()
    others.join(20)
    assert not others.is_alive()


def test_a_fragment_rebuilds(configs: Path) -> None:
    kbuild.build("mainline", "um", "release")
    (configs / "um.config").write_text("CONFIG_UM=y\nCONFIG_MORE=y\n")
    log = Log()
    assert "CONFIG_MORE=y" in kbuild.build("mainline", "um", "release", progress=log).config.read_text()
    assert log.stages == ["configuring mainline-um-release", "building mainline-um-release"]


def test_a_new_point_release_starts_afresh(tmp_path: Path, cache: Path) -> None:
    assert kbuild.build("vswap", "um", "release").release == "7.3.4-vswap"
    newer = fakes.kernel_base(tmp_path / "newer", point=5)
    linux.store(fakes.tarball(tmp_path / "newer.tar.xz", newer), cache / "source")
    assert kbuild.build("vswap", "um", "release").release == "7.3.5-vswap"


def test_failed_build(store: Store, cache: Path) -> None:
    patch = store.patches / fakes.HOOK
    good = patch.read_text()
    patch.write_text(good.replace("hook one", "BROKEN"))
    with pytest.raises(BuildError) as caught:
        kbuild.build("vswap", "um", "release")
    assert "mm/swap.c:1: error: BROKEN" in str(caught.value)
    log = cache / "log/build-vswap-um-release.log"
    assert str(log) in str(caught.value)
    assert "error: BROKEN" in log.read_text()
    with pytest.raises(BuildError):
        kbuild.build("vswap", "um", "release")
    patch.write_text(good)
    assert b"hook one" in kbuild.build("vswap", "um", "release").image.read_bytes()


def test_a_patch_that_does_not_apply(store: Store, cache: Path) -> None:
    patch = store.patches / fakes.FIRST
    patch.write_text(patch.read_text().replace(" line 38", " line xx"))
    with pytest.raises(TreeError, match=r"patches/03-vswap/0001.*hunk 1 .*mm/swap.c"):
        kbuild.build("vswap", "um", "release")
    assert not (cache / "build/vswap").exists()


def test_a_lost_option(configs: Path) -> None:
    (configs / "um.config").write_text("CONFIG_IMPOSSIBLE=y\n")
    with pytest.raises(ConfigError, match="CONFIG_IMPOSSIBLE=y"):
        kbuild.build("mainline", "um", "release")


@pytest.mark.parametrize(
    "names", [("windows", "um", "release"), ("vswap", "arm64", "release"), ("vswap", "um", "fast")]
)
def test_unknown_names(names: tuple[str, str, str]) -> None:
    with pytest.raises(UsageError, match="there are:"):
        kbuild.build(*names)


def test_a_flavour_of_another_architecture() -> None:
    with pytest.raises(UsageError, match="rt is one of x86_64 only"):
        kbuild.build("vswap", "um", "rt")


def test_interrupted_build(configs: Path, base: Path, cache: Path) -> None:
    """Ctrl-C: make ends, nothing counts as built, and the next build succeeds."""
    tree = buildtree.source_tree("mainline")
    makefile = tree.path / "Makefile"
    slow = makefile.read_text().replace("@cp $< $@", "@sleep 20; cp $< $@")
    paths.write_file(makefile, slow.encode())
    interrupt = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        kbuild.build("mainline", "um", "release")
    assert time.monotonic() - start < 6
    out = tree.path / "mainline-um-release"
    assert not (out / ".vswap-built.json").exists()
    assert not list(out.glob("mm/*.o"))
    paths.write_file(makefile, slow.replace("sleep 20; ", "").encode())
    assert kbuild.build("mainline", "um", "release").image.is_file()


def test_the_users_make_flags_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAKEFLAGS", "n"), ("KBUILD_OUTPUT", "/nonexistent"), ("MAKELEVEL", "1")):
        monkeypatch.setenv(name, value)
    assert kbuild.build("mainline", "um", "release").image.is_file()


def test_clean(cache: Path) -> None:
    kbuild.build("mainline", "um", "release")
    kbuild.clean()
    assert list((cache / "build").iterdir()) == []
    assert linux.cached(cache / "source")


def test_sync_survives_an_interruption(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree whose update was cut short still knows which files are not the base's."""
    tree = tmp_path / "tree"
    buildtree.sync(tree, base, "id", {})
    real = paths.write_file

    def failing(path: Path, data: bytes, mode: int = 0o644) -> None:
        if path.name == "b.c":
            raise KeyboardInterrupt
        real(path, data, mode)

    monkeypatch.setattr(paths, "write_file", failing)
    with pytest.raises(KeyboardInterrupt):
        buildtree.sync(tree, base, "id", {"mm/a.c": Content(b"a"), "mm/b.c": Content(b"b")})
    monkeypatch.setattr(paths, "write_file", real)
    assert (tree / "mm/a.c").exists()
    buildtree.sync(tree, base, "id", {"mm/other.c": None})
    assert not (tree / "mm/a.c").exists()
    assert not (tree / "mm/other.c").exists()
    assert json.loads((tree / ".vswap-tree.json").read_text())["names"] == ["mm/other.c"]
    buildtree.sync(tree, base, "id", {})
    assert (tree / "mm/other.c").read_text() == "other\n"
