"""Whole devices measured elsewhere: rows of a CSV file, whose numbers stay together.

Drawing downlink and uplink from the same row keeps how they go together (in M-Lab's speed tests the
rank correlation is 0.56), which two separate distributions would lose.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
from pydantic import BeforeValidator, Field, PrivateAttr, ValidationInfo, model_validator

from simfl.core.tables.by_name import places_of
from simfl.core.tables.table import Table, read_table
from simfl.core.types import Floats, Ids
from simfl.core.units import (
    COMPUTE,
    DATA_RATE,
    DATA_SIZE,
    DURATION,
    SAMPLE_RATE,
    SAMPLE_TIME,
    Dimension,
    compute_dimension,
    parse_unit,
)
from simfl.errors import InputError, UnitError
from simfl.scenario.distributions.base import pick
from simfl.scenario.parts.part import Part

MOST_SAMPLES = 10**9
"""Of one device."""

TracedNumber = Literal["compute", "downlink", "uplink", "latency", "memory"]

_DIMENSIONS: dict[str, Dimension] = {
    "downlink": DATA_RATE,
    "uplink": DATA_RATE,
    "latency": DURATION,
    "memory": DATA_SIZE,
}


class TracedColumn(Part):
    """A column of the file, and what its numbers are in."""

    column: str = Field(description="name in the file's header")
    unit: str = Field(
        description="of the numbers, such as kbit/s; compute may also be a time: ms/sample, or, "
        "with `samples`, ms"
    )
    samples: float | None = Field(
        None, gt=0, description="compute given as a time: how many samples it trains"
    )


def _several(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Wanted = Annotated[tuple[str | float, ...], BeforeValidator(_several), Field(min_length=1)]


class DeviceTrace(Part):
    """Devices whose numbers are taken from rows of a file, all of a device's from one row."""

    file: str = Field(description="CSV (or .csv.gz) with a header, beside the scenario")
    columns: dict[TracedNumber, TracedColumn] = Field(
        min_length=1, description="which column has which of a device's numbers"
    )
    where: dict[str, Wanted] = Field(
        default_factory=dict, description="use only rows with this value (or one of these) there"
    )
    weights: str | None = Field(
        None, description="column with how likely each row is; omitted: all equally"
    )
    sample: Literal["random", "in_order", "by_client"] = Field(
        "random",
        description="rows at random, with replacement; in the file's order, from the first in "
        "each group, repeated; or each device takes that of the client whose data it holds "
        "(default where `client` is given)",
    )
    client: str | None = Field(
        None,
        description="column with what the client is called whose device a row is, as in your own "
        "data (`data.partition: natural`); rows of others are left out",
    )
    samples: str | None = Field(
        None,
        description="column with how many training samples a device holds (`data.partition: iid`)",
    )
    _clients: tuple[str, ...] = PrivateAttr(())
    _samples: tuple[int, ...] = PrivateAttr(())
    _numbers: dict[str, tuple[float, ...]] = PrivateAttr(default_factory=dict)
    _weights: tuple[float, ...] | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _by_client(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("client") is None:
            return value
        return {"sample": "by_client", **value}

    @model_validator(mode="after")
    def _read(self, info: ValidationInfo) -> Self:
        if self._numbers:
            return self  # validated once more, as part of its group
        if self.weights is not None and self.sample != "random":
            raise ValueError("`weights` need `sample: random`")
        if (self.client is not None) != self.by_client:
            raise ValueError("`client`, a column, and `sample: by_client` need each other")
        dimensions = {key: _dimension(key, column) for key, column in self.columns.items()}
        needed = [column.column for column in self.columns.values()]
        needed += [name for name in (self.weights, self.client, self.samples) if name is not None]
        table = read_table((info.context or {}).get("folder"), self.file, needed, self.where)
        for key, column in self.columns.items():
            self._numbers[key] = tuple(_values(table, column, dimensions[key]).tolist())
        if self.client is not None:
            self._clients = tuple(_once_each(table, self.client))
        if self.samples is not None:
            whole = f"a number of samples: 0 to {MOST_SAMPLES:,}, whole"
            table.require(
                self.samples, lambda x: (x % 1 == 0) & (x >= 0) & (x <= MOST_SAMPLES), whole
            )
            self._samples = tuple(map(int, table.numbers(self.samples)))
        if self.weights is not None:
            weights = table.numbers(self.weights)
            with np.errstate(over="ignore"):
                total = np.cumsum(weights)[-1]
            if weights.min() < 0 or not 0 < total < np.inf:
                raise ValueError(
                    f"column {self.weights!r} must not be negative, all zero or without bound"
                )
            self._weights = tuple(weights.tolist())
        return self

    @property
    def rows(self) -> int:
        """How many rows there are to take devices from."""
        return len(next(iter(self._numbers.values())))

    @property
    def by_client(self) -> bool:
        """Whether rows are looked up by whose data a device holds, see `of_clients`."""
        return self.sample == "by_client"

    def of_clients(self, names: Sequence[str]) -> Ids:
        """Return `(n,)` the row of each device that holds the data of clients of these `names`.

        Raises:
            InputError: some have none.
        """
        return places_of(names, self._clients, self.file)

    def pick(self, u: Floats) -> Ids:
        """Return `(n,)` the row of each device, unless they are looked up by client.

        Args:
            u: `(n,)` uniform numbers, one of each device; only their count matters for `in_order`.
        """
        if self.sample == "in_order":
            return np.arange(len(u)) % self.rows
        return pick(self.rows, u, self._weights)

    def samples_of(self, rows: Ids) -> Ids:
        """Return `(n,)` how many samples each device holds, which has one of these `rows`."""
        return np.array(self._samples, dtype=np.int64)[rows]

    def values(self, name: str, rows: Ids) -> Floats:
        """Return `(n,)` the number `name` of each device, in base units."""
        return np.array(self._numbers[name])[rows]

    def unit(self, name: str) -> str:
        """Return the base unit of `values`: ``FLOP/s``, ``samples/s``, ``bit/s``, ``s``, ``B``."""
        column = cast(Mapping[str, TracedColumn], self.columns)[name]
        dimension = _dimension(name, column)
        timed = column.samples is not None or dimension is SAMPLE_TIME
        return (SAMPLE_RATE if timed else dimension).base


def _values(table: Table, column: TracedColumn, dimension: Dimension) -> Floats:
    """Return `(n,)` a column in base units.

    Raises:
        InputError: a cell does not fit; names its line.
    """
    no_zero = dimension.positive or column.samples is not None
    what = f"{dimension.name} in {column.unit}"
    table.require(column.column, lambda x: (x > 0) if no_zero else (x >= 0), what)
    values = table.numbers(column.column, parse_unit(column.unit, dimension))
    samples = 1 if dimension is SAMPLE_TIME else column.samples
    if samples is None:
        return values
    with np.errstate(over="ignore", divide="ignore"):
        rates: Floats = samples / values
    wrong = np.flatnonzero(~(np.isfinite(rates) & (rates > 0)))
    if len(wrong):
        raise InputError(f"{table.place(wrong[0])}: {what} can't be that short or long")
    return rates


def _once_each(table: Table, column: str) -> Sequence[str]:
    """Return a column of names.

    Raises:
        InputError: a cell is empty, or says what one before does; names its line.
    """
    first = dict[str, int]()
    for row, name in enumerate(table.cells[column]):
        if not name:
            raise InputError(f"{table.place(row)}: expected a client in column {column!r}")
        if (twin := first.setdefault(name, row)) != row:
            raise InputError(
                f"{table.place(row)}: client {name!r} is in line {table.lines[twin]} too"
            )
    return table.cells[column]


def _dimension(name: str, column: TracedColumn) -> Dimension:
    """Return what the numbers of a column must be."""
    dimension = _DIMENSIONS.get(name)
    if column.samples is not None:
        if name != "compute":
            raise ValueError(f"columns.{name}: `samples` is only for compute")
        dimension = DURATION
    elif dimension is None:
        dimension = compute_dimension(f"1 {column.unit}")
        if dimension not in COMPUTE:
            raise ValueError(
                "columns.compute: expected samples/s, FLOP/s, ms/sample, or a time with `samples`, "
                f"got {column.unit!r}"
            )
    try:
        parse_unit(column.unit, dimension)
    except UnitError as error:
        raise InputError(f"columns.{name}.unit: {error}") from None
    return dimension
