"""A Parquet file, or a folder of such, with a row per sample (needs ``simfl[parquet]``)."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.own.tables import TableDataset, as_text
from simfl.core.extras import extra
from simfl.errors import InputError


@datasets.register("parquet")
class Parquet(TableDataset):
    """Your own table as Parquet; a column of lists of equal length counts as many numbers."""

    file: str = Field(
        description="Parquet file, or folder of Parquet files; beside the scenario",
        examples=["data.parquet"],
    )

    @override
    def source(self) -> Path:
        return self._root / self.file

    @override
    def columns(self) -> Mapping[str, NDArray[Any]]:
        reader = extra("pyarrow.parquet", "parquet", "data set 'parquet'")
        try:
            table = reader.read_table(self.source())
        except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is one
            raise InputError(f"can't read {self.source()}: {error}") from None
        return {name: array_of(table.column(name).to_pylist()) for name in table.column_names}


def array_of(cells: list[Any]) -> NDArray[Any]:
    """Return `(n, ...)` an array of numbers, if that is what they are; else of text."""
    decimals = all(isinstance(cell, Decimal) for cell in cells)
    try:
        array = np.array(cells, dtype=float if decimals else None)
    except ValueError:  # lists of different lengths
        array = np.array([None])
    return array if array.dtype.kind in "biuf" else as_text(cells)
