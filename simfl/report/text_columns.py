"""Columns of text tables: names in folds, and tables no wider than there is room."""

import re
from collections.abc import Iterable, Iterator, Sequence

_GAP = 3
"""Between two columns of a table: a space on both sides of its rule."""
_EDGES = 2
_WORDS = re.compile(r"\S+(?: [^\w\s]+(?!\S))?")
"""What of a head stands in one line: a word, and a sign such as / after it."""


def folded(name: str, width: int) -> str:
    r"""Return a name in lines of `width` at most, cut after a mark where there is one.

    >>> folded("lr=0.1_clients=5", 9)
    'lr=0.1_\n  clients\n  =5'
    """
    lines = [""]
    for word in re.findall(r"[^\s,;_=-]*[\s,;_=-]?", name):
        if len(lines[-1]) + len(word) > width and lines[-1].strip():
            lines.append("  ")
        while len(lines[-1]) + len(word) > width:
            room = width - len(lines[-1])
            lines[-1] += word[:room]
            word = word[room:]
            lines.append("  ")
        lines[-1] += word
    return "\n".join(line for line in lines if line.strip())


def longest(cell: str) -> int:
    """Return how wide a cell is, which may have several lines."""
    return max(map(len, cell.split("\n")))


def width_of(column: Sequence[str]) -> int:
    """Return how wide a column is whose head, its first cell, may be broken between words.

    >>> width_of(["last arrival / deadline", "0.8"])
    9
    """
    head, *cells = column
    return max(map(longest, [*_WORDS.findall(head), *cells]))


def table_width(widths: Iterable[int]) -> int:
    """Return how wide a table is whose columns are so wide."""
    return sum(_GAP + width for width in widths) - _GAP + _EDGES


def fitting(columns: Sequence[Sequence[str]], most: int) -> Iterator[list[Sequence[str]]]:
    """Yield `columns` in tables no wider than `most`, so that no cell need be broken.

    The first, of names, stands in each.
    """
    names, *others = columns
    taken = list[Sequence[str]]()
    for column in others:
        if taken and table_width(map(width_of, (names, *taken, column))) > most:
            yield [names, *taken]
            taken = []
        taken.append(column)
    yield [names, *taken]
