"""Tables of a run folder as NumPy columns; rows that a crash cut short are left out."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simfl.errors import InputError

CHUNK = 50_000
"""Rows held as text at a time: a million participations fit in little memory."""

Table = Mapping[str, NDArray[Any]]
"""Columns by name: numbers as float64 (NaN where the field is empty), words as str."""


def read_table(path: Path, row: type) -> Table:
    """Return the columns of a CSV file.

    Args:
        path: the file.
        row: the dataclass of its rows: a column it declares as text stays text, and one that an
            older file lacks is empty.

    Raises:
        InputError: the file is missing or damaged.
    """
    words = {column.name for column in fields(row) if _is_text(column.type)}
    names = [column.name for column in fields(row)]
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(_whole(file))
            header = next(lines, names)
            chunks = list(_chunks(lines, header, words))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path} can't be read: {error}") from None
    table: dict[str, NDArray[Any]] = {}
    for name in dict.fromkeys([*names, *header]):
        parts = [chunk[name] for chunk in chunks if name in chunk]
        empty = np.empty(0, dtype=str if name in words else np.float64)
        rows = sum(len(next(iter(chunk.values()))) for chunk in chunks)
        if name in header:
            table[name] = np.concatenate(parts) if parts else empty
        else:
            table[name] = np.full(rows, "" if name in words else np.nan)
    return table


def _is_text(annotation: Any) -> bool:
    return annotation is str or "Literal" in str(annotation)


def _whole(file: Iterator[str]) -> Iterator[str]:
    """Yield the lines that end, for a killed run may leave half of one."""
    return (line for line in file if line.endswith("\n"))


def _chunks(
    lines: Iterator[list[str]], header: Sequence[str], words: set[str]
) -> Iterator[dict[str, NDArray[Any]]]:
    while rows := list(islice(lines, CHUNK)):
        columns = zip(*rows, strict=True)
        found = {}
        for name, column in zip(header, columns, strict=True):
            if name in words:
                found[name] = np.array(column, dtype=str)
            else:
                found[name] = np.array([field or "nan" for field in column], dtype=np.float64)
        yield found
