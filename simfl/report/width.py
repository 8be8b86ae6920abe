"""How wide text is: as the terminal, if there is one."""

import textwrap
from collections.abc import Iterator
from shutil import get_terminal_size

PIPED = 100
"""Columns where the output is no terminal and `COLUMNS` says nothing."""
LEAST = 40
"""Columns of the narrowest text: no table gets through less."""

WRITTEN = 96
"""Columns of text that was broken into lines when it was written, such as docstrings."""
_FULL = 84
"""A line that its successor's first word would have made longer than this goes on there."""
_BIBTEX = "@"
"""Begins an entry, which ends with a brace of its own."""


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


def narrowed(text: str) -> str:
    """Return text of up to `WRITTEN` columns in lines of the terminal's width, if that is less.

    Lines that go on in each other are filled anew where one is too long; BibTeX stays as it is.
    """
    width = max(LEAST, get_terminal_size((WRITTEN, 0)).columns)
    if width >= WRITTEN:
        return text
    passages = list(_passages(text.splitlines()))
    told = []
    for passage, after in zip(passages, [*passages[1:], [""]], strict=True):
        fits = max(map(len, passage)) <= width or passage[0].startswith(_BIBTEX)
        told.append("\n".join(passage) if fits else _filled(passage, width, _indent(after[0])))
    return "\n".join(told)


def _passages(lines: list[str]) -> Iterator[list[str]]:
    """Yield together the lines that go on in each other."""
    passage: list[str] = []
    for line in lines:
        if passage and not _goes_on(passage, line):
            yield passage
            passage = []
        passage.append(line)
    if passage:
        yield passage


def _goes_on(passage: list[str], line: str) -> bool:
    """Return whether `line` belongs to the lines before it."""
    last = passage[-1]
    if passage[0].startswith(_BIBTEX):
        return last != "}"
    first = line.lstrip().partition(" ")[0]
    alike = first not in ("", "-") and _indent(line) == _indent(last)
    return alike and len(last) + 1 + len(first) > _FULL


def _filled(lines: list[str], width: int, below: int) -> str:
    """Return a passage in lines of `width`, all but the first as far in as what is `below` it."""
    left = _indent(lines[0])
    inner = max(below, left + 2 * lines[0].lstrip().startswith("- "))
    return textwrap.fill(
        " ".join(map(str.strip, lines)),
        width,
        initial_indent=left * " ",
        subsequent_indent=inner * " ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
