"""A CSV file with a row per sample."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.tables import TableDataset
from simfl.core.table import open_csv
from simfl.errors import InputError


@datasets.register("csv")
class Csv(TableDataset):
    """Your own table as CSV: a header line, then a row per sample."""

    file: str = Field(
        description="CSV, plain or gzipped (.gz), with a header; beside the scenario",
        examples=["data.csv"],
    )

    @override
    def source(self) -> Path:
        return self._root / self.file

    @override
    def columns(self) -> Mapping[str, NDArray[Any]]:
        import pandas as pd

        with open_csv(self.source()) as text:
            try:
                # Whole columns: part by part, numbers among text would be written differently.
                table = pd.read_csv(text, low_memory=False)
            except ValueError as error:  # pandas' ParserError is one
                raise InputError(f"{self.source()} is no table: {error}") from None
        return {str(name).strip(): _array(table[name].to_numpy()) for name in table.columns}


def _array(column: NDArray[Any]) -> NDArray[Any]:
    """Return text as plain text: what is missing is the text `nan`."""
    return column if column.dtype.kind in "biuf" else np.array([str(cell) for cell in column])
