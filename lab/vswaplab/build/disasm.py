# SPDX-License-Identifier: GPL-2.0
"""The code of functions in object files, without what says nothing: addresses, line numbers, serial numbers.

Two builds of the same source in different trees have the same code then, function by function, also when
other functions of the file differ.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vswaplab.errors import ToolError
from vswaplab.proc import SYSTEM, Runner

Code = tuple[str, ...]

_CLONE = re.compile(r"\.(?:isra|constprop|part|cold|lto_priv)(?:\.\d+)?(?=\.|$)")
_SERIAL = re.compile(r"\.\d+$")
_INSN = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(.*)$")
_NOP = re.compile(r"(?:(?:data16|cs|rex\.W)\s+)*(?:nop[wl]?|xchg\s+%ax,%ax)\b")
_BRANCH = re.compile(r"^(\S+(?: \S+)?\s+)([0-9a-f]+) <[^>]*>$")
_COMMENT = re.compile(r"\s+#.*$")
_LINE_NUMBER = re.compile(r"^mov \$0x[0-9a-f]+,%(?:esi|edx)$")
# BUG(), WARN() and their like name the file or the function beside the line; instructions between the two.
_BESIDE_LINE = ((re.compile(r"# '[^']*\.[ch]'$"), 8), (re.compile(r"# __func__$"), 3))

_SHF_MERGE, _SHF_STRINGS = 0x10, 0x20
_SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS = 2, 4, 8
_STT_FUNC, _STT_SECTION = 2, 3
_PC_RELATIVE = {2, 4, 9, 24, 41, 42}  # R_X86_64_PC32, PLT32, GOTPCREL, PC64, GOTPCRELX, REX_GOTPCRELX


@dataclass(frozen=True)
class Section:
    """A section of an object file."""

    name: str
    type: int
    flags: int
    data: bytes
    link: int
    info: int
    entry_size: int


@dataclass(frozen=True)
class Symbol:
    """A symbol; ``section`` is 0 if another file has it."""

    name: str
    type: int
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """What the linker puts at ``offset``: symbol + addend, minus the offset if ``relative``."""

    offset: int
    relative: bool
    symbol: Symbol
    addend: int


def plain(name: str) -> str:
    """A symbol's name without what the compiler adds to tell copies apart."""
    return _SERIAL.sub("", _CLONE.sub("", name))


class ObjectFile:
    """A relocatable ELF file of a 64-bit little-endian machine. Raises ToolError if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 16)[0] != 1:
            raise ToolError(f"{path} is not an object file of a 64-bit little-endian machine")
        table = struct.unpack_from("<Q", data, 40)[0]
        count, names = struct.unpack_from("<HH", data, 60)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * n) for n in range(count)]
        text = [b"" if h[1] == _SHT_NOBITS else data[h[4] : h[4] + h[5]] for h in headers]
        self.sections = [
            Section(_string(text[names], h[0]), h[1], h[2], content, h[6], h[7], h[9])
            for h, content in zip(headers, text, strict=True)
        ]

    @cached_property
    def symbols(self) -> list[Symbol]:
        """All of them, in the file's order."""
        table = next((s for s in self.sections if s.type == _SHT_SYMTAB), None)
        if table is None:
            return []
        names = self.sections[table.link].data
        found = []
        for name, info, _other, section, value, size in struct.iter_unpack("<IBBHQQ", table.data):
            kind = info & 15
            real = section if section < len(self.sections) else 0
            text = self.sections[real].name if kind == _STT_SECTION else _string(names, name)
            found.append(Symbol(text, kind, real, value, size))
        return found

    @cached_property
    def relocations(self) -> dict[int, list[Relocation]]:
        """By section, in order of their offsets."""
        found: dict[int, list[Relocation]] = {}
        for section in self.sections:
            if section.type != _SHT_RELA:
                continue
            entries = [
                Relocation(offset, info & 0xFFFFFFFF in _PC_RELATIVE, self.symbols[info >> 32], addend)
                for offset, info, addend in struct.iter_unpack("<QQq", section.data)
            ]
            found.setdefault(section.info, []).extend(sorted(entries, key=lambda entry: entry.offset))
        return found

    @cached_property
    def named(self) -> dict[int, list[Symbol]]:
        """Functions and data by section, in order of their addresses."""
        found: dict[int, list[Symbol]] = {}
        for symbol in sorted(self.symbols, key=lambda symbol: (symbol.value, symbol.name)):
            if symbol.section and symbol.type != _STT_SECTION and symbol.size:
                found.setdefault(symbol.section, []).append(symbol)
        return found

    def functions(self) -> Iterator[Symbol]:
        """Every function that is defined here, by section and address."""
        for _section, symbols in sorted(self.named.items()):
            yield from (symbol for symbol in symbols if symbol.type == _STT_FUNC)

    def at(self, section: int, offset: int) -> Symbol | None:
        """What is defined at this place."""
        symbols = self.named.get(section, [])
        index = bisect_right(symbols, offset, key=lambda symbol: symbol.value) - 1
        if index >= 0 and offset < symbols[index].value + symbols[index].size:
            return symbols[index]
        return None


def _string(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode(errors="replace")


@dataclass(frozen=True)
class _Insn:
    address: int
    end: int
    text: str


def _disassembled(path: Path, runner: Runner) -> dict[str, list[_Insn]]:
    """Every instruction by section."""
    said = runner.run(["objdump", "-d", "-w", "-z", str(path)]).stdout
    found: dict[str, list[_Insn]] = {}
    for line in said.splitlines():
        if line.startswith("Disassembly of section "):
            current = found.setdefault(line[23:].rstrip(":"), [])
        elif match := _INSN.match(line):
            start = int(match[1], 16)
            current.append(_Insn(start, start + len(match[2].split()), _COMMENT.sub("", match[3]).strip()))
    return found


class _Function:
    """Turns one function's instructions into text."""

    def __init__(self, file: ObjectFile, symbol: Symbol) -> None:
        self._file, self._symbol = file, symbol
        self._end = symbol.value + symbol.size
        self._labels: dict[int, str] = {}

    def _inside(self, address: int) -> bool:
        return self._symbol.value <= address < self._end

    def _label(self, address: int) -> str:
        """A place in this function: numbered in order of first use."""
        return self._labels.setdefault(address, f"L{len(self._labels) + 1}")

    def _table(self, section: int, offset: int) -> str:
        """A table of a switch statement: where it jumps to, in order."""
        places: list[str] = []
        entries = {entry.offset: entry for entry in self._file.relocations.get(section, [])}
        while entry := entries.get(offset + 8 * len(places)):
            address = entry.symbol.value + entry.addend
            if entry.symbol.section != self._symbol.section or not self._inside(address):
                break
            places.append(self._label(address))
        return f"table({' '.join(places)})"

    def _place(self, section: int, offset: int) -> str:
        """What is at a place in this file."""
        if section == self._symbol.section and self._inside(offset):
            return self._label(offset)
        where = self._file.sections[section]
        if where.flags & _SHF_STRINGS:
            return repr(_string(where.data, offset))
        if symbol := self._file.at(section, offset):
            more = ":within" if symbol.type == _STT_FUNC else f"+{offset - symbol.value:#x}"
            return plain(symbol.name) + (more if offset != symbol.value else "")
        if where.flags & _SHF_MERGE:
            return f"{where.name}({where.data[offset : offset + where.entry_size].hex()})"
        if where.name.startswith(".rodata"):
            return self._table(section, offset)
        return where.name

    def _target(self, entry: Relocation, end: int) -> str:
        """What an instruction that ends at ``end`` refers to."""
        addend = entry.addend + (end - entry.offset if entry.relative else 0)
        if entry.symbol.section:
            return self._place(entry.symbol.section, entry.symbol.value + addend)
        return plain(entry.symbol.name) + (f"+{addend:#x}" if addend else "")

    def _line(self, insn: _Insn, entries: list[Relocation]) -> str:
        if entries:
            targets = ", ".join(self._target(entry, insn.end) for entry in entries)
            if match := _BRANCH.match(insn.text):
                return f"{' '.join(match[1].split())} {targets}"
            return f"{re.sub(r'0x0(?=[(,]|$)', '0', insn.text)}  # {targets}"
        if match := _BRANCH.match(insn.text):
            return f"{match[1].strip()} {self._place(self._symbol.section, int(match[2], 16))}"
        return insn.text

    def lines(self, insns: list[_Insn]) -> Code:
        """The text of the instructions, places that are jumped to marked."""
        relocations = self._file.relocations.get(self._symbol.section, [])
        shown: list[tuple[int, str]] = []
        for insn in insns:
            first = bisect_right(relocations, insn.address - 1, key=lambda entry: entry.offset)
            last = bisect_right(relocations, insn.end - 1, key=lambda entry: entry.offset)
            if not _NOP.match(insn.text):
                shown.append((insn.address, re.sub(r"\s+", " ", self._line(insn, relocations[first:last]))))
        return self._marked(_without_line_numbers(shown))

    def _marked(self, shown: list[tuple[int, str]]) -> Code:
        """With a label before the first instruction at, or after, each place that is jumped to."""
        result: list[str] = []
        left = sorted(self._labels.items())
        for address, text in shown:
            while left and left[0][0] <= address:
                result.append(f"{left.pop(0)[1]}:")
            result.append(f"  {text}")
        return tuple(result)


def _without_line_numbers(shown: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The constant that is the number of a source line becomes __LINE__."""
    near: set[int] = set()
    for index, (_address, text) in enumerate(shown):
        for name, distance in _BESIDE_LINE:
            if name.search(text):
                near.update(range(index - distance, index + distance + 1))
    result = list(shown)
    for index, (address, text) in enumerate(shown):
        if index in near and _LINE_NUMBER.match(text):
            result[index] = address, re.sub(r"\$0x[0-9a-f]+", "__LINE__", text)
    return result


def functions(path: Path, runner: Runner = SYSTEM) -> dict[str, Code]:
    """The code of every function of an object file by its plain name; copies of one are joined.

    Raises ToolError if it is no object file.
    """
    file = ObjectFile(path)
    insns = _disassembled(path, runner)
    parts: dict[str, list[tuple[str, Code]]] = {}
    for symbol in file.functions():
        within = [
            insn
            for insn in insns.get(file.sections[symbol.section].name, [])
            if symbol.value <= insn.address < symbol.value + symbol.size
        ]
        code = _Function(file, symbol).lines(within)
        parts.setdefault(plain(symbol.name), []).append((symbol.name, code))
    return {name: _joined(copies) for name, copies in parts.items()}


def _joined(copies: list[tuple[str, Code]]) -> Code:
    """Copies of a function: the one in a section for rare code last."""
    ordered = sorted(copies, key=lambda copy: (".cold" in copy[0], _SERIAL.sub("", copy[0]), copy[1]))
    return tuple(line for _name, code in ordered for line in code)


def edited_objects(edited: Iterable[str], directory: Path) -> list[str]:
    """Names, as mm/zswap.o, of what is built in ``directory`` from the base's files that are edited."""
    sources = (name for name in sorted(edited) if name.endswith(".c") and not name.startswith("arch/"))
    objects = (name.removesuffix(".c") + ".o" for name in sources)
    return [name for name in objects if (directory / name).is_file()]


@dataclass(frozen=True)
class Difference:
    """A function that two kernels do not have alike; None for the one that does not have it."""

    source: str  # mm/zswap.c
    function: str
    ours: Code | None
    base: Code | None


def differences(
    names: list[str],
    ours: Path,
    base: Path,
    *,
    read: Callable[[Path], dict[str, Code]] = functions,
) -> list[Difference]:
    """The functions of the objects ``names`` that differ between two build directories."""
    found = []
    for name in names:
        mine, theirs = read(ours / name), read(base / name)
        source = name.removesuffix(".o") + ".c"
        for function in sorted(mine.keys() | theirs.keys()):
            if mine.get(function) != theirs.get(function):
                found.append(Difference(source, function, mine.get(function), theirs.get(function)))
    return found
