"""Numbers measured elsewhere: one column of a CSV file."""

import csv
import gzip
from pathlib import Path

import numpy as np

from simfl.errors import InputError, nearest
from simfl.units import Dimension, parse_quantity
from simfl.work import Floats


def read_column(
    folder: Path | None, file: str, column: str, unit: str, dimension: Dimension
) -> Floats:
    """Return `(n,)` the numbers of a column in base units; empty cells are left out.

    Args:
        folder: where a relative `file` is looked up (None: the working directory).
        file: CSV with a header line, perhaps compressed (``.gz``).
        column: name in the header.
        unit: what the numbers are in.
        dimension: what they must be.

    Raises:
        InputError: no such file or column, or a cell that is no fitting number (and where).
    """
    path = (folder or Path()) / file
    factor = parse_quantity(f"1 {unit}", dimension)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="") as text:
            rows = csv.reader(text)
            header = [name.strip() for name in next(rows, [])]
            if column not in header:
                raise InputError(f"{file} has no column {column!r}{nearest(column, header)}")
            index = header.index(column)
            cells = [(rows.line_num, row[index].strip()) for row in rows if len(row) > index]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"can't read {path}: {getattr(error, 'strerror', None) or error}"
        ) from None
    numbers = []
    for line, cell in cells:
        if not cell:
            continue
        try:
            number = float(cell)
        except ValueError:
            number = np.nan
        if not np.isfinite(number) or number < 0 or (dimension.positive and number == 0):
            raise InputError(f"{file}:{line}: {cell!r} can't be {dimension.name} in {unit}")
        numbers.append(number)
    if not numbers:
        raise InputError(f"column {column!r} of {file} is empty")
    return np.array(numbers) * factor
