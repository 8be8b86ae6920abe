"""Pieces of plain data: paths to them, places in the file they were read from, as text."""

import json
from collections.abc import Iterator
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


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path of everything in `value` that is neither a list nor a mapping."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(item, f"{path}.{key}" if path else str(key))


def as_written(value: Any) -> str:
    """Return a value as a scenario, or ``--set``, has it."""
    return value if isinstance(value, str) else json.dumps(value)
