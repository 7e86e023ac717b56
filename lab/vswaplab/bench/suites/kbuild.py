# SPDX-License-Identifier: GPL-2.0
"""A kernel build: the larger files of mm/, compiled with make -j in too little memory."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from vswaplab import hashing, paths
from vswaplab.bench.published import Posting
from vswaplab.bench.setup import ZSWAP
from vswaplab.bench.suite import FOLIOS_2M, FOLIOS_64K, Metric, Program, Room, Suite, Unverified, timed
from vswaplab.build import kbuild
from vswaplab.errors import BuildError
from vswaplab.proc import SYSTEM, Runner

FILES = 4  # the largest of mm/
WORKER = 64 << 20  # bytes of RAM per compiler, see Kbuild
_SAVED = re.compile(r"^savedcmd_\S+ := (?:ccache )?(.*?)(?: ;.*)?$", re.MULTILINE)
# Both the preprocessor's own arguments and what says where output goes are left out of a compilation.
_PREPROCESSOR = ("-I", "-D", "-U", "-Wp,", "-nostdinc", "-fmacro-prefix-map", "-W")
_RULES = """\
OBJECTS := {objects}
all: $(OBJECTS)
%.o: {directory}/%.i
	gcc {flags} -c -o $@ $<
"""


def split_command(words: Sequence[str], source: str) -> tuple[list[str], list[str]]:
    """(arguments for the preprocessor, flags of the compilation) out of kbuild's command for a file."""
    every, flags = [], []
    rest = iter(words[1:])
    for word in rest:
        if word in ("-o", "-include", "-isystem"):
            value = next(rest)
            every += [] if word == "-o" else [word, value]
        elif word == "-c" or word == source or word.startswith("-Wp,"):
            continue
        else:
            every.append(word)
            if word.startswith("-") and not word.startswith(_PREPROCESSOR):
                flags.append(word)
    return every, flags


def _command(out: Path, name: str) -> tuple[list[str], str]:
    """kbuild's words for mm/NAME.c, and the source as it names it. Raises BuildError."""
    record = out / "mm" / f".{name}.o.cmd"
    found = _SAVED.search(record.read_text()) if record.is_file() else None
    if not found:
        raise BuildError(f"the build of mainline says nothing about mm/{name}.c")
    words = shlex.split(found[1])
    return words, next(word for word in reversed(words) if word.endswith(f"/{name}.c"))


def make_sources(out: Path, target: Path, runner: Runner) -> None:
    """Preprocess the files into ``target``, and compile them once for the checksums in "sums"."""
    sizes = {path.stem: path.stat().st_size for path in (out / ".." / "mm").glob("*.c")}
    built = [name for name in sizes if (out / "mm" / f".{name}.o.cmd").is_file()]
    names = sorted(sorted(built, key=lambda name: -sizes[name])[:FILES])
    sums: list[str] = []
    common: list[str] = []
    for name in names:
        words, source = _command(out, name)
        every, common = split_command(words, source)
        file = target / f"{name}.i"
        runner.run(["gcc", *every, "-w", "-E", "-P", "-o", str(file), source], cwd=out)
        runner.run(["gcc", *common, "-w", "-c", "-o", str(target / f"{name}.o"), file.name], cwd=target)
        digest = hashing.of_file(target / f"{name}.o")
        sums.append(f"{digest}  {name}.o\n")
        (target / f"{name}.o").unlink()
    paths.write_file(target / "sums", "".join(sums).encode())
    objects = " ".join(f"{name}.o" for name in names)
    rules = _RULES.format(objects=objects, directory=target.name, flags=shlex.join([*common, "-w"]))
    paths.write_file(target / "rules", rules.encode())


class Kbuild(Suite):
    """The published builds give a compiler 54 MB (32 workers in 1.7 GB) to 170 MB (12 in 2 GB).

    Here it is one compiler per ``worker`` bytes of RAM; on the largest of these files it takes 110 MB. The
    objects have to be, byte for byte, what the host's compiler made of the same files.
    """

    name = "kbuild"
    summary = f"make -j: compile {FILES} files of mm/ (52 workers in 3 GB)"
    metrics = (Metric("real", "s"), Metric("sys", "s"))
    times = 1.75
    timeout = 1200.0
    programs = (Program("gcc", "gcc"), Program("make", "make"))
    worker = WORKER
    first = ""  # shell text that runs first
    postings: Sequence[Posting] = (
        Posting("vswap v3", ZSWAP, "memcg", {"real": (185.2, 184.88), "sys": (683.7, 675.14)}),
        Posting("vswap v3", ("disk",), "memcg", {"real": (200.3, 201.47), "sys": (489.88, 487.36)}),
        Posting("table edition RFC v2, zstd", ZSWAP, "memcg", {"real": (169.08, 168.90)}, "2026-06-12"),
    )

    def sources(self) -> Path:
        """Where the sources are: the files, their checksums, a makefile's rules."""
        kernel = kbuild.build("mainline", "um", "release")
        text = f"2\0{FILES}\0{kbuild.compiler()}\0{hashing.of_file(kernel.image)}"
        return paths.cache_dir() / "bench" / "kbuild" / hashing.of_text(text)[:20]

    def prepare(self) -> None:
        """Make the sources, once per base kernel and compiler."""
        target = self.sources()
        with paths.locked(target.with_name(f".{target.name}.lock")):
            if not target.is_dir():
                with paths.atomic_dir(target) as temporary:
                    make_sources(kbuild.build("mainline", "um", "release").dir, temporary, SYSTEM)

    def script(self, room: Room) -> str:
        """Objects and make's own files are in a tmpfs that is never swapped."""
        source = self.sources()
        workers = max(1, room.bytes // self.worker)
        return f"""{self.first}
mkdir -p /run/build && cd /run/build && ln -s {shlex.quote(str(source))} sources
sed 's,: [^/ ]*/%.i$,: sources/%.i,' sources/rules > Makefile
begin
limited stopwatch --json=$RESULTS/time.json -- make -s -j{workers} > /run/said 2>&1 \\
  || fail "make: $(tail -n 1 /run/said)"
finish
sha256sum --quiet -c sources/sums > /run/said 2>&1 && touch $RESULTS/same || head -n 3 /run/said >&2
"""

    def parse(self, files: Mapping[str, str]) -> Mapping[str, float]:
        """Of make and everything it started."""
        time = timed(files)
        if "same" not in files:
            raise Unverified("the objects are not what they should be")
        return {"real": time["seconds"], "sys": time["sys_seconds"]}


class Kbuild32(Kbuild):
    """Published: a defconfig build by 32 threads in a group of 1.7 GB, zswap, folios of 64 KB."""

    name = "kbuild32"
    summary = "the same with folios of 64 KB (32 workers in 1.7 GB, x86_64)"
    worker = 17 * (1 << 30) // 10 // 32
    first = FOLIOS_64K
    setups = ZSWAP
    pressures = ("memcg",)
    arches = ("x86_64",)
    timeout = 3600.0
    postings = (
        Posting(
            "zswap batching v14, zstd", ZSWAP, "memcg", {"real": (100.89, 99.98)}, "2026-01-25", page_cluster=0,
        ),
    )  # fmt: skip


class Kbuild48(Kbuild):
    """Published: -j48 in a machine of 4 GB, NVMe."""

    name = "kbuild48"
    summary = "the same with more memory for each (48 workers in a 4 GB machine)"
    worker = (4 << 30) // 48
    setups = ("disk",)
    pressures = ("global",)
    postings = (
        Posting("swap table III", ("disk",), "global", {"sys": (435.6, 432.8)}),
        Posting("vswap v3", ("disk",), "global", {"sys": (435.6, 455.7)}),
    )


class Kbuild96(Kbuild):
    """Published: -j96 in a machine of 8 GB, zram, transparent huge pages."""

    name = "kbuild96"
    summary = "the same with huge pages (96 workers in an 8 GB machine, zram, x86_64)"
    worker = (8 << 30) // 96
    first = FOLIOS_2M
    setups = ("zswap", "zram")
    pressures = ("global",)
    arches = ("x86_64",)
    timeout = 3600.0
    postings = (Posting("swap table IV", ("zram",), "global", {"sys": (4773.99, 4641.55)}, "2026-05-17"),)


SUITES = (Kbuild(), Kbuild32(), Kbuild48(), Kbuild96())
