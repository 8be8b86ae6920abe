"""What messages list: the first of what may be many, and who says the same."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

_Line = TypeVar("_Line", bound=Hashable)

LONGEST_TEXT = 60
"""Characters of what somebody has written."""


def few(words: Iterable[str], most: int = 3, between: str = ", ") -> str:
    """Return the first of some words, and dots if there are more.

    >>> few("abc"), few("abcd"), few("abc", 2, "; ")
    ('a, b, c', 'a, b, c, ...', 'a; b; ...')
    """
    first = list(islice(words, most + 1))
    return between.join([*first[:most], "..."] if len(first) > most else first)


def in_a_line(text: str) -> str:
    r"""Return what stands in users' data as a line of a table can have it.

    >>> in_a_line("St.\n\tMary\x1b")
    'St. Mary'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def either(words: Sequence[str]) -> str:
    """Return words of which one is meant.

    >>> either("abc"), either("a")
    ('a, b or c', 'a')
    """
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def numbered(number: int, noun: str) -> str:
    """Return a number of things.

    >>> numbered(1, "device"), numbered(1500, "device")
    ('1 device', '1,500 devices')
    """
    return f"{number:,} {of_number(number, noun)}"


def of_number(number: float, noun: str) -> str:
    """Return what so many things are called.

    >>> of_number(1, "device"), of_number(0, "device"), of_number(1.5, "device")
    ('device', 'devices', 'devices')
    """
    return noun if number == 1 else f"{noun}s"


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as text.

    >>> ranges([0, 2, 3, 4])
    '0,2-4'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def natural(text: str) -> tuple[str | int, ...]:
    """Return what texts are sorted by so that numbers in them ascend.

    >>> sorted(["r10", "r2", "r1b", "r"], key=natural)
    ['r', 'r1b', 'r2', 'r10']
    """
    words: list[str | int] = [*re.split(r"(\d+)", text)]
    words[1::2] = map(int, words[1::2])
    return tuple(words)


def group_names(groups: Sequence[str], others: Iterable[str]) -> list[str]:
    """Return what groups are called beside `others`, which are no groups: by no name of theirs.

    >>> group_names(["new", "old"], ["all"]), group_names(["all", "group all"], ["all"])
    (['new', 'old'], ['group all', 'group group all'])
    """
    clash = not set(groups).isdisjoint(others)
    return [f"group {name}" if clash else name for name in groups]


def owners(lines: Mapping[str, Iterable[_Line]]) -> dict[_Line, list[str]]:
    """Return the names of those who say each line, in the order in which lines first come.

    >>> owners({"a": ["x", "y"], "b": ["y"]})
    {'x': ['a'], 'y': ['a', 'b']}
    """
    names: dict[_Line, list[str]] = {}
    for name, own in lines.items():
        for line in own:
            names.setdefault(line, []).append(name)
    return names
