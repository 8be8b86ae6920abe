"""How much a message shows of what may be long."""

from collections.abc import Iterable
from itertools import islice

LONGEST_TEXT = 60
"""Characters of what somebody has written."""


def few(words: Iterable[str], most: int = 3, between: str = ", ") -> str:
    """Return the first of some words, and dots if there are more.

    >>> few("abc"), few("abcd"), few("abc", 2, "; ")
    ('a, b, c', 'a, b, c, ...', 'a; b; ...')
    """
    first = list(islice(words, most + 1))
    return between.join([*first[:most], "..."] if len(first) > most else first)
