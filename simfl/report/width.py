"""How wide text is: as the terminal, if there is one."""

from shutil import get_terminal_size

PIPED = 100
"""Columns where the output is no terminal and `COLUMNS` says nothing."""
LEAST = 40
"""Columns of the narrowest text: no table gets through less."""


def text_width() -> int:
    """Return how many columns text has: what `COLUMNS` says, the terminal's, or `PIPED`."""
    return max(LEAST, get_terminal_size((PIPED, 0)).columns)
