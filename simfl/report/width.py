"""How wide text is: as the terminal, if there is one."""

import textwrap
from shutil import get_terminal_size

PIPED = 100
"""Columns where the output is no terminal and `COLUMNS` says nothing."""
LEAST = 40
"""Columns of the narrowest text: no table gets through less."""


def text_width() -> int:
    """Return how many columns text has: what `COLUMNS` says, the terminal's, or `PIPED`."""
    return max(LEAST, get_terminal_size((PIPED, 0)).columns)


def hanging(line: str, left: int) -> str:
    """Return `line` in lines of the terminal's width, all but the first `left` columns in.

    Where there is no terminal it stays one line, for other programs to read.
    """
    if (width := get_terminal_size((0, 0)).columns) == 0:
        return line
    return textwrap.fill(
        line,
        max(LEAST, width),
        subsequent_indent=left * " ",
        break_on_hyphens=False,
        break_long_words=False,
    )
