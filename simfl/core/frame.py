"""A whole CSV file as columns, for files that are read at one go."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from simfl.core.table import not_wide, open_csv, refuse_twice
from simfl.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


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
        width = len(header)
        # Of a first row that is longer pandas takes what is too much for names of the rows, and
        # in one that is shorter whatever is missing is missing at the end.
        for row in rows:
            if len(row) != width:
                raise InputError(not_wide(path, lines.line_num, width, len(row)))
        refuse_twice(path, header, filter(None, header))
        text.seek(0)
        try:
            # Whole columns: part by part, numbers among text would be written differently.
            frame = pd.read_csv(text, low_memory=False, keep_default_na=False, na_values=[""])
            return frame.rename(columns=str.strip)
        except (ValueError, OverflowError) as error:  # pandas' ParserError is one
            raise InputError(f"can't read {f'{what} {path}'.strip()}: {error}") from None
