"""A whole CSV file as columns, for files that are read at one go."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from simfl.core.csv_file import not_wide, open_csv, refuse_twice
from simfl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 2**31 - 1
"""Characters of a cell at most."""


def read_frame(path: Path, what: str = "") -> "pd.DataFrame":
    """Return the columns of a CSV file with a header, plain or gzipped.

    Only empty cells are missing; `NA` and `null` are text.

    Args:
        path: where it is.
        what: it is, for messages.

    Raises:
        InputError: it can't be read or is empty, two columns have one name, or a row has more cells
            than the header, or fewer.
    """
    import pandas as pd

    with open_csv(path, what) as text:
        lines = csv.reader(text)
        rows = (row for row in lines if row)
        header = [name.strip() for name in next(rows, ())]
        if not header:
            raise InputError(f"can't read {f'{what} {path}'.strip()}: it is empty")
        # Of a first row that is longer pandas takes what is too much for names of the rows, and
        # in one that is shorter whatever is missing is missing at the end.
        for line, cells in _widths(text):
            if cells != len(header):
                raise InputError(not_wide(path, line, len(header), cells))
        refuse_twice(path, header, filter(None, header))
        text.seek(0)
        try:
            # Whole columns: part by part, numbers among text would be written differently.
            frame = pd.read_csv(text, low_memory=False, keep_default_na=False, na_values=[""])
            return frame.rename(columns=str.strip)
        except (ValueError, OverflowError) as error:  # pandas' ParserError is one
            raise InputError(f"can't read {f'{what} {path}'.strip()}: {error}") from None


def _widths(text: TextIO) -> Iterator[tuple[int, int]]:
    """Yield the line number and the number of cells of each row, without those that are blank."""
    text.seek(0)
    for number, line in enumerate(text, start=1):
        if '"' in line:  # a cell may hold commas and line breaks
            break
        if not line.isspace():
            yield number, line.count(",") + 1
    else:
        return
    text.seek(0)
    csv.field_size_limit(_LONGEST)
    rows = csv.reader(text)
    for row in rows:
        if len(row) > 1 or (row and row[0].strip()):
            yield rows.line_num, len(row)
