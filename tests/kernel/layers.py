# SPDX-License-Identifier: GPL-2.0
"""Which file uses whose functions and variables among the files of mm/vswap/, found in the sources.

Nothing is compiled, so that all of it is seen, whatever the configuration. A file uses a symbol if it
names it: a call, a pointer to a function, a variable. What an inline function of a header names, its
callers use. Macros are not followed, and neither is what mm/ calls back.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

IGNORED = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
      | ^[ \t]*\#[ \t]*(?!define\b)\w*[^\n]*$""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:\\\n|[^\n])*", re.MULTILINE)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
NO_SYMBOL = re.compile(r"\b(?:struct|enum|union|goto)\s+\w+|(?:->|\.)\s*[A-Za-z_]\w*")  # tags, members
TYPE = re.compile(r"(?:struct|enum|union)\s+\w*\s*\{")
INLINE = re.compile(r"static\s+(?:__always_)?inline\b")
# A variable that a macro defines: DEFINE_MUTEX(name), DEFINE_PER_CPU(type, name), LIST_HEAD(name)
DEFINED = re.compile(r"(?:(?:DEFINE|DECLARE)_(?!PER_CPU)\w+|L?LIST_HEAD|DEFINE_PER_CPU\w*\([^,]*,)\s*\(?\s*(\w+)")
ATTRIBUTE = re.compile(r"\b__(?:attribute__\s*\(\(.*?\)\)|printf\s*\(.*?\))")
ORDER = re.compile(r"^ \*\t(\w+\.c)\t", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Use:
    user: str  # a file
    symbol: str
    owner: str  # the file that defines it

    def __str__(self) -> str:
        return f"{self.user} uses {self.symbol} of {self.owner}"


def _code(text: str) -> str:
    """Without comments, strings and preprocessor lines other than definitions of macros."""
    return ATTRIBUTE.sub(" ", IGNORED.sub(" ", text))


def _named(code: str) -> set[str]:
    return set(IDENTIFIER.findall(NO_SYMBOL.sub(" ", code)))


def _declarations(code: str) -> Iterator[str]:
    """What stands at the outermost level, one after the other, functions with their bodies."""
    start = depth = 0
    code = DEFINE.sub("", code)
    for match in re.finditer(r"[(){};]", code):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1, ";": 0}[match[0]]
        if depth or match[0] in "()":
            continue
        # The brace of a type or of an initialiser is followed by a semicolon.
        if match[0] == "}" and code[match.end():].lstrip()[:1] == ";":
            continue
        yield code[start:match.end()].strip()
        start = match.end()


def _head(declaration: str) -> str:
    return re.split(r"[{=;]", declaration, maxsplit=1)[0]


def _function(head: str) -> str | None:
    """The function that is declared; None for a variable and for a macro's use."""
    match = re.match(r"[^(]*?(\w+)\s*\(", head)
    return match[1] if match and head[:match.start(1)].strip() else None


def _symbols(code: str) -> Iterator[str]:
    """Functions and variables that other files can use."""
    for declaration in _declarations(code):
        # Macros that end without a semicolon, such as __setup(), may stand before it.
        if re.match(r"(?:static|typedef|extern)\b", declaration) or TYPE.match(declaration):
            continue
        head = _head(declaration)
        key = DEFINED.match(head)
        function = _function(head)
        if key:
            yield key[1]
        elif function:
            yield function
        elif "(" not in head:
            for name in head.split(","):
                names = [word for word in IDENTIFIER.findall(re.sub(r"\[.*?\]", "", name))
                         if not word.startswith("__")]
                if names:
                    yield names[-1]


def functions(text: str) -> Iterator[str]:
    """All functions that a file defines, from its text, static ones included."""
    for declaration in _declarations(_code(text)):
        name = _function(_head(declaration))
        if name and declaration.endswith("}"):
            yield name


def _inlines(code: str) -> dict[str, set[str]]:
    """What the inline functions of a header name; where there are several of a name, all of it."""
    found: dict[str, set[str]] = {}
    for declaration in _declarations(code):
        name = _function(_head(declaration))
        if INLINE.match(declaration) and name:
            found.setdefault(name, set()).update(_named(declaration))
    return found


def order(directory: Path) -> list[str]:
    """The files, top to bottom, as internal.h lists them."""
    return ORDER.findall((directory / "internal.h").read_text())


def named(code: Mapping[str, str]) -> dict[str, set[str]]:
    """What each .c file names, itself and through inline functions of the headers."""
    inlines: dict[str, set[str]] = {}
    for name in code:
        if name.endswith(".h"):
            for function, words in _inlines(code[name]).items():
                inlines.setdefault(function, set()).update(words)

    found = {}
    for name in code:
        if not name.endswith(".c"):
            continue
        known: set[str] = set()
        new = _named(code[name])
        while new:
            known |= new
            new = {word for function in new & inlines.keys() for word in inlines[function]} - known
        found[name] = known
    return found


@functools.cache
def symbols(text: str) -> frozenset[str]:
    """The functions and variables that a file defines for others, from its text."""
    return frozenset(_symbols(_code(text)))


def uses(directory: Path) -> set[Use]:
    """All that files of the directory use of each other."""
    texts = {path.name: path.read_text() for path in sorted(directory.glob("*.[ch]"))}
    owners = {symbol: name for name in texts if name.endswith(".c") for symbol in symbols(texts[name])}
    return {
        Use(name, symbol, owners[symbol])
        for name, words in named({name: _code(text) for name, text in texts.items()}).items()
        for symbol in words & owners.keys()
        if owners[symbol] != name
    }


def early(step: Mapping[str, str], last: Mapping[str, str], directory: str) -> set[Use]:
    """What files of the directory use in a step of a series that only a later one defines.

    Both are texts by name: of all files that the series touches, after the step and after the last one.
    """
    owners = {symbol: name for name in last if name.endswith(".c") for symbol in symbols(last[name])}
    defined = {symbol for name in step if name.endswith(".c") for symbol in symbols(step[name])}
    later = owners.keys() - defined
    code = {name: _code(text) for name, text in step.items() if name.startswith(directory)}
    return {
        Use(name, symbol, owners[symbol]) for name, words in named(code).items() for symbol in words & later
    }


def upward(directory: Path) -> list[Use]:
    """The uses that contradict the order."""
    place = {name: index for index, name in enumerate(order(directory))}
    return sorted(use for use in uses(directory) if place[use.user] > place[use.owner])
