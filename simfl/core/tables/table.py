"""Columns of a CSV file, with the line that each row stands on."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simfl.core.tables.csv_file import not_wide, open_csv, refuse_twice
from simfl.core.types import Floats
from simfl.core.words import few, numbered
from simfl.errors import InputError, nearest

MOST_NAMED = 6
"""Values of a column that a message names."""


@dataclass(frozen=True)
class Table:
    """Some columns of a file.

    Attributes:
        file: its name, for messages.
        lines: `(n,)` where each row stands in the file, from 1.
        cells: `(n,)` text of each row, by column.
    """

    file: str
    lines: Sequence[int]
    cells: Mapping[str, Sequence[str]]

    def __len__(self) -> int:
        return len(self.lines)

    def picked(self, keep: Sequence[int]) -> "Table":
        """Return these rows only."""
        cells = {name: [column[i] for i in keep] for name, column in self.cells.items()}
        return Table(self.file, [self.lines[i] for i in keep], cells)

    def place(self, row: int) -> str:
        """Return ``file:line`` of a row."""
        return f"{self.file}:{self.lines[row]}"

    def numbers(self, column: str, factor: float = 1.0) -> Floats:
        """Return `(n,)` a column times `factor`.

        Raises:
            InputError: a cell, or its product, is no finite number; names the first.
        """
        cells = self.cells[column]
        with np.errstate(over="ignore"):
            values = _numbers(cells) * factor
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            cell = cells[wrong[0]]
            shown = repr(cell) if cell else "nothing"
            what = "a number" if not np.isfinite(number(cell)) else "a number of ordinary size"
            where = self.place(wrong[0])
            raise InputError(f"{where}: expected {what} in column {column!r}, got {shown}")
        return values

    def require(self, column: str, fits: Callable[[Floats], object], what: str) -> None:
        """Raise an error that names the first row whose number in `column` does not fit.

        Args:
            column: its name.
            fits: `(n,)` numbers -> `(n,)` whether each will do.
            what: completes "<value> can't be ...".

        Raises:
            InputError: there is one.
        """
        values = self.numbers(column)
        wrong = np.flatnonzero(~np.asarray(fits(values), dtype=bool))
        if len(wrong):
            cell = self.cells[column][wrong[0]]
            raise InputError(f"{self.place(wrong[0])}: {cell!r} can't be {what}")


def read_table(
    folder: Path | None,
    file: str,
    columns: Sequence[str],
    where: Mapping[str, Sequence[str | float]] | None = None,
) -> Table:
    """Return the rows that have in each column of `where` one of the values wanted.

    Args:
        folder: where a relative `file` is looked up (None: the working directory).
        file: CSV with a header line, perhaps compressed (``.gz``).
        columns: which are needed.
        where: column -> values; numbers are compared as numbers, everything else as text.

    Raises:
        InputError: no such file or column, or two of that name, a row that ends too early or has
            cells beyond the header's, or no row left.
    """
    where = where or {}
    wanted = {column: {_key(value) for value in values} for column, values in where.items()}
    with open_csv((folder or Path()) / file) as text:
        reader = csv.reader(text)
        header = [name.strip() for name in next(reader, [])]
        for column in (*columns, *where):
            if column not in header:
                raise InputError(f"{file} has no column {column!r}{nearest(column, header)}")
        refuse_twice(file, header, (*columns, *where))
        needed = {name: header.index(name) for name in (*columns, *where)}
        table = _columns(file, reader, needed, len(header))
    cells = table.cells
    if wanted:
        keep = [
            row
            for row in range(len(table))
            if all(_key(cells[name][row]) in keys for name, keys in wanted.items())
        ]
        table = table.picked(keep)
    if not len(table):
        held = "".join(_held(name, keys, cells[name]) for name, keys in wanted.items())
        raise InputError(f"{file} has no row" + (f" that fits `where`{held}" if where else ""))
    return table


def _held(column: str, wanted: set[str | float], cells: Sequence[str]) -> str:
    """Return what a column holds, if that is nothing that was wanted."""
    values = list(dict.fromkeys(cells))
    if wanted & set(map(_key, values)):
        return ""
    return f"; column {column!r} holds {few(map(repr, values), MOST_NAMED)}"


def _columns(
    file: str, reader: Iterator[list[str]], needed: Mapping[str, int], headed: int
) -> Table:
    lines: list[int] = []
    cells: dict[str, list[str]] = {name: [] for name in needed}
    filled = [(cells[name], index) for name, index in needed.items()]
    width = max(needed.values()) + 1
    for row in reader:
        line = int(getattr(reader, "line_num", 0))
        if not row:
            continue
        if len(row) < width:
            raise InputError(f"{file}:{line}: has only {numbered(len(row), 'column')}")
        if any(map(str.strip, row[headed:])):  # a decimal comma makes two cells of one, and shifts
            raise InputError(not_wide(file, line, headed, len(row)))
        lines.append(line)
        for column, index in filled:
            column.append(row[index].strip())
    return Table(file, lines, cells)


def _numbers(cells: Sequence[str]) -> Floats:
    try:
        found = np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        return np.array([number(cell) for cell in cells], dtype=np.float64)
    found[["_" in cell for cell in cells]] = np.nan
    return found


def number(cell: str) -> float:
    """Return what a cell says (NaN: no number, such as 5_5, which is 55 to Python alone)."""
    try:
        return np.nan if "_" in cell else float(cell)
    except ValueError:
        return np.nan


def _key(value: object) -> str | float:
    try:
        return float(str(value))
    except ValueError:
        return str(value)
