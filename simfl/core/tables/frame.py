"""A whole CSV file as columns, for files that are read at one go."""

import csv
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from simfl.core.tables.csv_file import not_wide, open_csv, refuse_twice
from simfl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 2**31 - 1
"""Characters of a cell at most."""


def read_frame(path: Path, what: str = "", names: Collection[str] = ()) -> "pd.DataFrame":
    """Return the columns of a CSV file with a header, plain or gzipped.

    Only empty cells are missing; `NA` and `null` are text.

    Args:
        path: where it is.
        what: it is, for messages.
        names: columns that tell whose each row is, if they are there.

    Raises:
        InputError: it can't be read or is empty, two columns have one name, a row has more cells
            than the header, or fewer, or two of the `names` in a column are one number.
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
            for column in map(str, frame):
                if column.strip() in names and frame[column].dtype.kind in "iuf":
                    text.seek(0)
                    _refuse_merged(path, text, column, frame[column])
            return frame.rename(columns=str.strip)
        except (ValueError, OverflowError) as error:  # pandas' ParserError is one
            raise InputError(f"can't read {f'{what} {path}'.strip()}: {error}") from None


def _refuse_merged(path: Path, text: TextIO, column: str, numbers: "pd.Series[float]") -> None:
    """Refuse a column of names that are all numbers, if two of them are the same: '01' and '1'."""
    import pandas as pd

    written = pd.read_csv(text, usecols=[column], dtype=str, keep_default_na=False)[column]
    pairs = pd.DataFrame({"number": numbers, "name": written}).drop_duplicates()
    pairs["name"] = pairs["name"].str.strip()
    pairs = pairs.drop_duplicates()
    for _, same in pairs[pairs.duplicated("number", keep=False)].groupby("number"):
        one, other, *_ = sorted(same["name"])
        raise InputError(
            f"{path}: column {column.strip()!r} has {one!r} and {other!r}, which are one number; "
            "write one name everywhere, or begin different ones with a letter"
        )


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
