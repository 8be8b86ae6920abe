"""Numbers measured elsewhere: listed, or one column of a CSV file."""

from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field, PrivateAttr, ValidationInfo, model_validator
from typing_extensions import override

from simfl.core.tables.table import read_table
from simfl.core.types import Floats, Ids
from simfl.core.units import Dimension, parse_unit
from simfl.errors import InputError
from simfl.scenario.distributions.base import Parameter, Truncated, pick


class Empirical(Truncated):
    """Measured numbers, each equally likely: listed as `values`, or a `column` of a CSV `file`."""

    distribution = "empirical"
    file: str | None = Field(None, description="CSV (or .csv.gz) beside the scenario")
    column: str | None = Field(None, description="name of its column")
    per: str | None = Field(None, alias="unit", description="unit of the column's numbers")
    listed: tuple[Parameter, ...] | None = Field(
        None, alias="values", min_length=1, description="the numbers themselves, without a file"
    )
    _measured: tuple[float, ...] = PrivateAttr(())

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        context = info.context or {}
        if self.listed is not None:
            if self.file or self.column or self.per:
                raise ValueError(
                    "expected either `values` or `file`, `column` and `unit`, not both"
                )
            numbers = np.array(self.listed)
        else:
            if self.file is None or self.column is None or self.per is None:
                raise ValueError("expected either `values`, or `file`, `column` and `unit`")
            numbers = read_column(
                context.get("folder"), self.file, self.column, self.per, context["dimension"]
            )
        low, high = self.bounds
        numbers = np.sort(numbers[(numbers >= low) & (numbers <= high)])
        if not len(numbers):
            raise ValueError("no value lies between `min` and `max`")
        self._measured = tuple(numbers.tolist())
        return self

    @override
    def values(self, u: Floats, samples: Ids) -> Floats:
        return np.array(self._measured)[pick(len(self._measured), u)]

    @override
    def lowest(self) -> float:
        return self._measured[0]


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
    factor = parse_unit(unit, dimension)
    table = read_table(folder, file, [column])
    table = table.picked([row for row, cell in enumerate(table.cells[column]) if cell])
    if not len(table):
        raise InputError(f"column {column!r} of {file} is empty")
    least = np.nextafter(0, 1) if dimension.positive else 0.0
    table.require(column, lambda x: x >= least, f"{dimension.name} in {unit}")
    return table.numbers(column, factor)
