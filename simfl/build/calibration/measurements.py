"""A file of measurements: a row a participation, of any deployment."""

import csv
import math
from pathlib import Path
from typing import Any

import pandas as pd

from simfl.core.tables.csv_file import open_csv, refuse_twice
from simfl.core.tables.table import number
from simfl.errors import InputError

COLUMNS = (
    "client", "samples", "epochs", "download_s", "download_bytes", "compute_s", "upload_s",
    "upload_bytes",
)  # fmt: skip
"""Of a file of measurements, a row a participation; `group` may be there too.  A phase that did not
end has an empty cell for its seconds, and may have one for its bytes."""


def measurements(path: Path) -> pd.DataFrame:
    """Read a file of measurements.

    Raises:
        InputError: naming the line and the column of what is wrong.
    """
    with open_csv(path) as text:
        reader = csv.DictReader(text)
        header = reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        if missing := [name for name in COLUMNS if name not in header]:
            raise InputError(
                f"{path}:1: no column {', '.join(missing)}; expected {', '.join(COLUMNS)}, and "
                "group if devices have any"
            )
        refuse_twice(path, header, (*COLUMNS, "group"))
        rows = [_row(path, reader.line_num, row) for row in reader]
    if not rows:
        raise InputError(f"{path}: no row of measurements")
    return pd.DataFrame(rows)


def _row(path: Path, line: int, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the file with its numbers read (NaN: an empty cell), and where it stands.

    Raises:
        InputError: it has too few cells or too many, or one that is no such number.
    """
    if None in row or None in row.values():
        raise InputError(f"{path}:{line}: expected a cell for each column of line 1")
    parsed: dict[str, Any] = {
        "client": row["client"].strip(),
        "group": (row.get("group") or "devices").strip(),
        "place": f"{path}:{line}",
    }
    if not parsed["client"]:
        raise InputError(f"{path}:{line}: column client: expected a name")
    for name in COLUMNS[1:]:
        cell = row[name].strip()
        value = number(cell)
        not_over = not row[name.replace("_bytes", "_s")].strip()
        may_lack = name.endswith("_s") or (name.endswith("_bytes") and not_over)
        told = (
            (not cell and may_lack)
            or 0 < value < math.inf
            or (value == 0 and name == "upload_bytes")
        )
        if not told:
            raise InputError(
                f"{path}:{line}: column {name}: expected a number above zero, got {cell!r}"
            )
        parsed[name] = value
    return parsed
