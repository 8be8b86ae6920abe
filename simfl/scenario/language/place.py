"""Pieces of plain data: paths to them, places in the file they were read from, as text."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Key = str | int
Location = tuple[Key, ...]
"""A path into plain data, such as ``("fleet", 0, "uplink")``."""


class Place(NamedTuple):
    """Where something was written; line and column count from 1 (0: not in a file)."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}" if self.line else self.source


class Marks(NamedTuple):
    """Where a key and its value stand (items of a list have no key)."""

    key: Place
    value: Place


def dotted(path: Location) -> str:
    """Return a location as text.

    >>> dotted(("fleet", 0, "count"))
    'fleet[0].count'
    """
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".")


def leaves(value: Any, path: Location = ()) -> Iterator[tuple[Location, Any]]:
    """Yield what is in `value` with its path; lists without mappings stay whole.

    >>> list(leaves({"fleet": [{"count": 3}], "targets": [0.5, 0.6]}))
    [(('fleet', 0, 'count'), 3), (('targets',), [0.5, 0.6])]
    """
    if isinstance(value, dict) and value:
        parts: Iterable[tuple[Key, Any]] = value.items()
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        parts = enumerate(value)
    else:
        yield path, value
        return
    for key, item in parts:
        yield from leaves(item, (*path, key))


def flat(value: Any) -> dict[str, Any]:
    """Return what is in `value` by its path as text, such as ``fleet[0].count``."""
    return {dotted(path): item for path, item in leaves(value)}


def as_written(value: Any) -> str:
    """Return a value as a scenario, or ``--set``, has it."""
    return value if isinstance(value, str) else json.dumps(value)
