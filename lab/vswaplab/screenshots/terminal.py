# SPDX-License-Identifier: GPL-2.0
"""What was written to a terminal, as a picture of the terminal."""

import re
from itertools import groupby

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

# The picture is of the program, not of what comes after it: programs of the full screen leave it at the end.
LEAVES = "\033[?1049l"
# A font would be fetched from the network; the comment says where the library comes from.
ADDRESSES = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)
COLORS = {"brown": "yellow", "brightbrown": "bright_yellow", "default": "default"}


def _color(name: str) -> str:
    """Rich's name of one of pyte's colours: a name, or six hexadecimal digits."""
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f"#{name}"
    return COLORS.get(name) or re.sub(r"^bright", "bright_", name)


def _style(cell: Char) -> Style:
    return Style(
        color=_color(cell.fg), bgcolor=_color(cell.bg), bold=cell.bold, italic=cell.italics,
        underline=cell.underscore, reverse=cell.reverse,
    )  # fmt: skip


def screen(written: str, columns: int, rows: int) -> list[Text]:
    """The lines of the terminal after that, without empty ones at the end."""
    terminal = pyte.Screen(columns, rows)
    terminal.set_mode(pyte.modes.LNM)  # the recordings are text files, whose lines end with \n
    pyte.Stream(terminal).feed(written.partition(LEAVES)[0])
    lines = []
    for row in range(rows):
        cells = [terminal.buffer[row][column] for column in range(columns)]
        line = Text()
        for style, run in groupby(cells, _style):
            line.append("".join(cell.data for cell in run), style)
        line.rstrip()
        lines.append(line)
    while lines and not lines[-1].plain:
        lines.pop()
    return lines


def svg(written: str, title: str, columns: int, rows: int) -> str:
    """The picture, which needs nothing from the network."""
    lines = screen(written, columns, rows)
    with open("/dev/null", "w") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, color_system="truecolor", force_terminal=True)
        console.print(Text("\n").join(lines), no_wrap=True, crop=True)
    drawn = console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id=re.sub(r"\W+", "-", title))
    return ADDRESSES.sub("", drawn)
