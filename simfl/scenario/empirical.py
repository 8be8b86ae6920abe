"""Numbers measured elsewhere: one column of a CSV file."""

from pathlib import Path

import numpy as np

from simfl.errors import InputError
from simfl.scenario.table import number, read_rows
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
    factor = parse_quantity(f"1 {unit}", dimension)
    numbers = []
    for row in read_rows(folder, file, [column]):
        if not row.cells[column]:
            continue
        value = number(file, row, column)
        if value < 0 or (dimension.positive and value == 0):
            raise InputError(
                f"{file}:{row.line}: {row.cells[column]!r} can't be {dimension.name} in {unit}"
            )
        numbers.append(value)
    if not numbers:
        raise InputError(f"column {column!r} of {file} is empty")
    return np.array(numbers) * factor
