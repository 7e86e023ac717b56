# SPDX-License-Identifier: GPL-2.0
"""What a program has drawn on a terminal, picture by picture."""

import re

PIECE = re.compile(r"\033\[([?0-9;]*)([A-Za-z])|\033([()][A-Z0-9]|[=>])|([\r\n\a])|([^\033\r\n\a])")
ALTERNATE, MAIN = "\033[?1049h", "\033[?1049l"
SHOW, HIDE = "\033[?25h", "\033[?25l"


def pictures(text: str, rows: int, columns: int) -> list[list[str]]:
    """The lines of the screen each time that the cursor goes home, and at the end.

    Raises AssertionError for a character outside of it, and for a sequence that is not known here.
    """
    found: list[list[str]] = []
    lines, row, column = [[" "] * columns for _ in range(rows)], 0, 0
    position = 0
    while position < len(text):
        match = PIECE.match(text, position)
        assert match, text[position : position + 20]
        position = match.end()
        words, command, _, control, char = match.groups()
        if command == "H":
            assert words in ("", "1;1"), match[0]
            found.append(["".join(line).rstrip() for line in lines])
            row = column = 0
        elif command == "J":
            lines = [[" "] * columns for _ in range(rows)]
        elif command:
            assert command in "hlm", match[0]
        elif control:
            row, column = row + (control == "\n"), 0 if control == "\r" else column
        elif char:
            assert row < rows and column < columns, (row, column, found[-1:], "".join(lines[min(row, rows - 1)]))
            lines[row][column] = char
            column += 1
    return [*found, ["".join(line).rstrip() for line in lines]]


def left_behind(text: str) -> str:
    """What is wrong with the terminal at the end: on the other screen, or without a cursor; "" for nothing."""
    if text.rfind(ALTERNATE) > text.rfind(MAIN):
        return "the main screen is not shown"
    return "the cursor is hidden" if text.rfind(HIDE) > text.rfind(SHOW) else ""
