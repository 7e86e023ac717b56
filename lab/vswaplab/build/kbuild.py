# SPDX-License-Identifier: GPL-2.0
"""Build kernels; skip what was built from the same inputs before."""

import json
import os
import re
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.build import config
from vswaplab.errors import BuildError, UsageError
from vswaplab.proc import SYSTEM, Runner, quoted
from vswaplab.progress import Progress, Silent
from vswaplab.tree.buildtree import Tree, prepared, source_tree

_RECIPE = "1"  # change it when the way of building changes what comes out
_STAMP = ".vswap-built.json"
_TARGETS = {"um": ("vmlinux", "vmlinux"), "x86_64": ("bzImage", "arch/x86/boot/bzImage")}
# Lines that a first build prints; later ones use the number the build before printed.
_STEPS = {"um": 1450, "x86_64": 1990}
_STEP = re.compile(r"  (?:CC|AS|AR|LD|HOSTCC|HOSTLD|GEN|UPD|WRAP|SYSHDR|VDSO|OBJCOPY)\b")


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel that is ready to boot."""

    kernel: str
    arch: str
    flavour: str
    image: Path  # um: an executable; x86_64: a bzImage
    dir: Path  # where it was built
    config: Path
    release: str  # what uname -r says in it

    @property
    def name(self) -> str:
        """A short name for tables and file names."""
        return f"{self.kernel}-{self.arch}-{self.flavour}"


def check_names(kernel: str, arch: str, flavour: str) -> None:
    """Raise UsageError for anything that is not built here."""
    for value, known, what in (
        (kernel, config.KERNELS, "kernel"),
        (arch, config.ARCHES, "arch"),
        (flavour, config.FLAVOURS, "flavour"),
    ):
        if value not in known:
            raise UsageError(f"no {what} {value!r}; there are: {', '.join(known)}")
    if not config.exists(arch, flavour):
        raise UsageError(f"the flavour {flavour} is one of x86_64 only")


def arch_and_flavour(text: str) -> tuple[str, str]:
    """The two of "ARCH-FLAVOUR". Raises UsageError."""
    arch, _, flavour = text.partition("-")
    try:
        check_names("vswap", arch, flavour)
    except UsageError as error:
        raise UsageError(f"no kernel {text!r}; expected ARCH-FLAVOUR, such as um-debug: {error}") from error
    return arch, flavour


def compiler(runner: Runner = SYSTEM) -> str:
    """The compiler's own name and version."""
    return runner.run(["gcc", "--version"]).stdout.partition("\n")[0]


def ccache(tree: Path) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment that make compilers go through ccache, if it is installed."""
    if shutil.which("ccache") is None:
        return [], {}
    environment = {
        "CCACHE_DIR": str(paths.cache_dir() / "ccache"),
        "CCACHE_BASEDIR": str(tree),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_MAXSIZE": "8G",
    }
    return ["CC=ccache gcc", "HOSTCC=ccache gcc"], environment


def make_command(kernel: str, arch: str, out: Path, jobs: int) -> list[str]:
    """The make command for one kernel, its target left out."""
    return ["make", f"-j{jobs}", f"ARCH={arch}", f"O={out.name}", f"LOCALVERSION=-{kernel}"]


_FIXED = {  # the same inputs give the same image
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "vswap",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
}


def _steps(out: Path, arch: str) -> int:
    path = out / ".vswap-steps"
    return int(path.read_text()) if path.is_file() else _STEPS[arch]


class _Follower:
    """Takes the build's output line by line: into the log, the tail and the progress."""

    def __init__(self, log: Path, label: str, total: int, progress: Progress) -> None:
        """``total`` is the number of files that are made, 0 if it is not known."""
        self._stream = log.open("w")
        self._label, self._total, self._progress = label, total, progress
        self.done = 0
        self.tail: deque[str] = deque(maxlen=400)

    def line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self.tail.append(text)
        if _STEP.match(text):
            self.done += 1
            self._progress.update(self._label, min(self.done, self._total or self.done), self._total)

    def close(self) -> None:
        self._stream.close()

    def errors(self) -> list[str]:
        """The lines that say what went wrong, the last ten of them."""
        said = [line for line in self.tail if re.search(r"error|\*\*\*|undefined reference|No space", line, re.I)]
        return (said or list(self.tail))[-10:]


def make(
    tree: Path,
    out: Path,
    kernel: str,
    arch: str,
    *,
    objects: Sequence[str] = (),
    jobs: int = 0,
    runner: Runner,
    progress: Progress,
) -> None:
    """Run make for one kernel, or for some of its objects.

    Raises BuildError with the last error lines and the log's path.
    """
    label = f"compiling {len(objects)} files of {out.name}" if objects else f"building {out.name}"
    log = paths.cache_dir() / "log" / f"build-{out.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    arguments, environment = ccache(tree)
    argv = [
        *make_command(kernel, arch, out, jobs or os.cpu_count() or 1),
        *arguments,
        *(objects or _TARGETS[arch][:1]),
    ]
    follower = _Follower(log, label, 0 if objects else _steps(out, arch), progress)
    follower.line(f"$ {quoted(argv)}")
    progress.update(label)
    try:
        result = runner.run(
            argv, cwd=tree, env={**paths.MAKE_ENV, **_FIXED, **environment}, check=False, on_line=follower.line
        )
    finally:
        follower.close()
    if result.returncode != 0:
        lines = "\n  ".join(follower.errors())
        raise BuildError(f"{label} failed; the log is {log}; its last errors:\n  {lines}")
    # Only a whole build tells how many steps a whole build has.
    if not objects and follower.done > _steps(out, arch) // 2:
        paths.write_file(out / ".vswap-steps", str(follower.done).encode())


def _stamped(out: Path, identity: str) -> BuiltKernel | None:
    """What was built in ``out`` from exactly these inputs, if it is still there."""
    stamp = out / _STAMP
    if not stamp.is_file():
        return None
    fields = json.loads(stamp.read_text())
    if fields.pop("identity", None) != identity:
        return None
    for name in ("image", "dir", "config"):
        fields[name] = Path(fields[name])
    built = BuiltKernel(**fields)
    return built if built.image.is_file() else None


def _stamp(built: BuiltKernel, identity: str) -> None:
    fields = {name: str(value) for name, value in asdict(built).items()}
    paths.write_file(built.dir / _STAMP, json.dumps({**fields, "identity": identity}).encode())


def _identity(tree: Tree, parts: Sequence[Path], runner: Runner) -> str:
    """A checksum of all that decides what comes out."""
    text = "\0".join([_RECIPE, tree.identity, config.fragments_hash(parts), compiler(runner)])
    return hashing.of_text(text)


def _configured(
    tree: Tree, out: Path, arch: str, parts: Sequence[Path], strict: bool, runner: Runner, progress: Progress
) -> Path:
    """Make ``out`` ready for make, under its lock: what it holds is no finished kernel from here on."""
    (out / _STAMP).unlink(missing_ok=True)
    progress.update(f"configuring {out.name}")
    return config.configure(tree.path, out, arch, parts, strict=strict, runner=runner)


def build_in(
    tree: Tree,
    kernel: str,
    arch: str,
    flavour: str,
    *,
    extra: Sequence[Path] = (),
    strict: bool = True,
    jobs: int = 0,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> BuiltKernel:
    """Build one kernel in a source tree that is, and stays, what it should be; see buildtree.prepared().

    ``extra`` are fragments of configuration on top of the lab's, ``strict`` is that of
    config.configure(). Raises BuildError and ConfigError.
    """
    progress = progress or Silent()
    out = tree.path / f"{kernel}-{arch}-{flavour}"
    parts = [*config.fragments(kernel, arch, flavour, paths.configs_dir()), *extra]
    identity = _identity(tree, parts, runner)
    if known := _stamped(out, identity):
        return known
    out.mkdir(exist_ok=True)
    with paths.locked(out / ".lock"):
        if known := _stamped(out, identity):  # another process built it while this one waited
            return known
        dot_config = _configured(tree, out, arch, parts, strict, runner, progress)
        make(tree.path, out, kernel, arch, jobs=jobs, runner=runner, progress=progress)
        release = (out / "include/config/kernel.release").read_text().strip()
        built = BuiltKernel(kernel, arch, flavour, out / _TARGETS[arch][1], out, dot_config, release)
        _stamp(built, identity)
        return built


def build_objects(
    kernel: str,
    arch: str,
    flavour: str,
    names: Sequence[str],
    *,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> Path:
    """Compile some objects of a kernel, as mm/zswap.o, and return the directory that they are in.

    They are those of build(), and nothing is done if it has built the kernel from the same inputs.
    Raises what build() raises.
    """
    check_names(kernel, arch, flavour)
    progress = progress or Silent()
    with prepared(lambda: source_tree(kernel, flavour, runner=runner, progress=progress)) as tree:
        out = tree.path / f"{kernel}-{arch}-{flavour}"
        parts = config.fragments(kernel, arch, flavour, paths.configs_dir())
        out.mkdir(exist_ok=True)
        with paths.locked(out / ".lock"):
            if not _stamped(out, _identity(tree, parts, runner)):
                _configured(tree, out, arch, parts, True, runner, progress)
                make(tree.path, out, kernel, arch, objects=names, runner=runner, progress=progress)
        return out


def build(
    kernel: str,
    arch: str,
    flavour: str,
    *,
    jobs: int = 0,
    runner: Runner = SYSTEM,
    progress: Progress | None = None,
) -> BuiltKernel:
    """Build a kernel, or return the one that was built from the same inputs before.

    ``jobs`` is the number of compilers at a time (0: one per CPU). Raises UsageError for unknown
    names, SourceError, TreeError, ConfigError, BuildError for what can go wrong on the way.
    """
    check_names(kernel, arch, flavour)
    with prepared(lambda: source_tree(kernel, flavour, runner=runner, progress=progress)) as tree:
        return build_in(tree, kernel, arch, flavour, jobs=jobs, runner=runner, progress=progress)


def clean() -> None:
    """Remove every build tree with the kernels in it; the source and ccache's store stay."""
    root = paths.cache_dir() / "build"
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
