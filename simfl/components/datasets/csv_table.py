"""A CSV file with a row per sample."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.own.tables import TableDataset, as_text
from simfl.core.tables.frame import read_frame


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
        table = read_frame(self.source(), names=() if self.client is None else (self.client,))
        return {str(name): _array(column.to_numpy()) for name, column in table.items()}


def _array(column: NDArray[Any]) -> NDArray[Any]:
    return column if column.dtype.kind in "biuf" else as_text(column)
