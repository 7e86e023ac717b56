# SPDX-License-Identifier: GPL-2.0
"""The pages of the in-kernel benchmark that are like real data, compiled for the host."""

import ctypes
import subprocess
import zlib
from collections.abc import Callable

import pytest

from vswaplab import paths

SOURCE = paths.repo_root() / "kernel-bench/mm/swap_bench/real.c"
HEADERS = {
    "types.h": "#include <stdint.h>\ntypedef uint64_t u64;\ntypedef uint32_t u32;\n",
    "string.h": "#include <string.h>\n#define strscpy(to, from) strcpy(to, from)\n",
}
Fill = Callable[[int], bytes]


@pytest.fixture(scope="module")
def fill(tmp_path_factory: pytest.TempPathFactory) -> Fill:
    """The page for a seed."""
    directory = tmp_path_factory.mktemp("real")
    (directory / "linux").mkdir()
    for name, text in HEADERS.items():
        (directory / "linux" / name).write_text(text)
    library = directory / "real.so"
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    command = ["gcc", *flags, f"-I{directory}", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True, timeout=60)
    function = ctypes.CDLL(str(library)).bench_real_fill
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint64]

    def page(seed: int) -> bytes:
        room = ctypes.create_string_buffer(b"\xaa" * (3 * 4096), 3 * 4096)
        function(ctypes.addressof(room) + 4096, seed)
        assert room.raw[:4096] == room.raw[8192:] == b"\xaa" * 4096, "nothing around the page is written"
        return room.raw[4096:8192]

    return page


def seeds(count: int) -> list[int]:
    """As data.c makes them."""
    return [(number * 0x9E3779B97F4A7C15 | 1) & (1 << 64) - 1 for number in range(1, count + 1)]


def test_a_page_follows_from_its_seed_and_no_two_are_the_same(fill: Fill) -> None:
    pages = [fill(seed) for seed in seeds(1000)]
    assert len(set(pages)) == 1000 and pages[:50] == [fill(seed) for seed in seeds(50)]


def test_pages_compress_like_real_data(fill: Fill) -> None:
    """zlib stands for the kernel's compressors: 4.2:1 with it is 3.1:1 with LZ4 and 4.8:1 with zstd."""
    sizes = [len(zlib.compress(fill(seed), 1)) for seed in seeds(1000)]
    assert 4096 * len(sizes) / sum(sizes) == pytest.approx(4.2, abs=0.2)
    assert min(sizes) > 4096 / 8 and max(sizes) < 4096 / 2, "each page on its own as well"


def test_half_are_text(fill: Fill) -> None:
    text = sum(page.isascii() and b"\0" not in page for page in map(fill, seeds(1000)))
    assert text == pytest.approx(500, abs=60)
