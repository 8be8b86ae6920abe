"""Rows of a CSV file, with where each stands."""

import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simfl.errors import InputError, nearest


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        line: where it stands in the file, from 1.
        cells: text by column, for the columns asked for.
    """

    line: int
    cells: Mapping[str, str]


def read_rows(
    folder: Path | None,
    file: str,
    columns: Sequence[str],
    where: Mapping[str, Sequence[str | float]] | None = None,
) -> list[Row]:
    """Return the rows that have in each column of `where` one of the values wanted.

    Args:
        folder: where a relative `file` is looked up (None: the working directory).
        file: CSV with a header line, perhaps compressed (``.gz``).
        columns: which are needed.
        where: column -> values; numbers are compared as numbers, everything else as text.

    Raises:
        InputError: no such file or column, a row that ends too early, or no row left.
    """
    where = where or {}
    path = (folder or Path()) / file
    wanted = {column: {_key(value) for value in values} for column, values in where.items()}
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        # Spreadsheets write a byte order mark first.
        with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text)
            header = [name.strip() for name in next(reader, [])]
            for column in (*columns, *where):
                if column not in header:
                    raise InputError(f"{file} has no column {column!r}{nearest(column, header)}")
            needed = {column: header.index(column) for column in (*columns, *where)}
            rows = list(_rows(file, reader, needed))
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"can't read {path}: {why}") from None
    rows = [
        row for row in rows if all(_key(row.cells[name]) in keys for name, keys in wanted.items())
    ]
    if not rows:
        raise InputError(f"{file} has no row" + (" that fits `where`" if where else ""))
    return rows


def _rows(file: str, reader: Iterator[list[str]], needed: Mapping[str, int]) -> Iterator[Row]:
    for cells in reader:
        line = int(getattr(reader, "line_num", 0))
        if not cells:
            continue
        if len(cells) <= max(needed.values()):
            raise InputError(f"{file}:{line}: has only {len(cells)} columns")
        yield Row(line, {name: cells[index].strip() for name, index in needed.items()})


def _key(value: object) -> str | float:
    try:
        return float(str(value))
    except ValueError:
        return str(value)


def number(file: str, row: Row, column: str) -> float:
    """Return a cell as a finite number.

    Raises:
        InputError: it is none.
    """
    cell = row.cells[column]
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        found = repr(cell) if cell else "nothing"
        raise InputError(f"{file}:{row.line}: expected a number in column {column!r}, got {found}")
    return value
