"""Tables of a run folder as data frames; what a crash cut short is left out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simfl.core.types import Flags
from simfl.errors import InputError, nearest

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: Path, row: type) -> "pd.DataFrame":
    """Return a table of a run folder.

    Args:
        path: the CSV file.
        row: the dataclass of its rows, which says the type of each column; one that an older file
            lacks is empty (NaN, or "" for text), and what else there is are numbers.

    Raises:
        InputError: the file is missing or damaged.
    """
    import pandas as pd

    kinds = {column.name: _kind(column.type) for column in fields(row)}
    # Of a number that is no integer Pandas tells, and NumPy would too.
    with _whole_lines(path, ",".join(kinds)) as whole, np.errstate(invalid="ignore"):
        names = whole.readline().decode().strip().split(",")
        whole.seek(0)
        dtypes = {name: kinds.get(name, float) for name in names}
        empty = {name: ["", "nan"] for name, kind in dtypes.items() if kind is float}
        table = pd.read_csv(whole, dtype=dtypes, keep_default_na=False, na_values=empty)
    for column in fields(row):
        name, kind = column.name, kinds[column.name]
        if name not in table and kind is int and column.default is MISSING:
            raise InputError(f"{path} is damaged: it has no column {name!r}")
        if name not in table:
            table[name] = "" if kind is str else np.nan
    return table


def filled(path: Path, column: str) -> Flags:
    """Return `(rows,)` where a column of a table holds anything, be it ``nan``.

    Raises:
        InputError: the file is missing or damaged.
    """
    import pandas as pd

    with _whole_lines(path, column) as whole:
        cells = pd.read_csv(whole, usecols=[column], dtype=str, keep_default_na=False)[column]
    return (cells != "").to_numpy(dtype=np.bool_)


def column_of(table: "pd.DataFrame", name: str) -> NDArray[Any]:
    """Return `(rows,)` one column of a table.

    Raises:
        InputError: it has none of that name.
    """
    if name not in [*table.columns]:
        raise InputError(f"there is no column {name!r}{nearest(str(name), table.columns)}")
    column: NDArray[Any] = table[name].to_numpy()
    return column


@contextmanager
def _whole_lines(path: Path, header: str) -> Iterator[BytesIO]:
    """Give a file without the half a line that a killed run may leave; without any, a `header`.

    Raises:
        InputError: it can't be read, or nobody can make anything of it.
    """
    try:
        data = path.read_bytes()
        yield BytesIO(data[: data.rfind(b"\n") + 1] or header.encode())
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path} can't be read: {error}") from None


def _kind(annotation: Any) -> type:
    if annotation is int:
        return int
    return str if annotation is str or "Literal" in str(annotation) else float
