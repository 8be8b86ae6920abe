"""Tables with a row per sample: what CSV, Parquet and the like have in common."""

import math
import re
import reprlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.own.base import OwnDataset
from simfl.components.datasets.own.rows import FALSE, Rows, for_testing, known, whose
from simfl.core.types import Flags
from simfl.core.words import few
from simfl.errors import InputError

UNNAMED = re.compile(r"Unnamed: \d+")
"""What pandas calls a column without a name."""
_NAME_FEATURES = "; name the columns to learn from (`features`)"


class TableDataset(OwnDataset):
    """A table with a row per sample; columns are named."""

    label: str | tuple[str, ...] = Field(
        "label", description="column with the target, or a list of them", min_length=1
    )
    features: tuple[str, ...] = Field(
        (), description="columns of numbers to learn from; omitted: all others"
    )
    client: str | None = Field(None, description="column with the client of each sample")
    test: str | None = Field(
        None,
        description="column that marks the test samples (1, true, yes or test; all others train)",
    )
    input_shape: tuple[int, ...] = Field(
        (), description="shape of one input, such as [1, 28, 28]; omitted: a vector"
    )

    @abstractmethod
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return `(n,)` or `(n, ...)` every column, by name, in the file's order."""

    @override
    def rows(self) -> Rows:
        columns, file = self.columns(), self.source()
        labels = (self.label,) if isinstance(self.label, str) else self.label
        features = self._features(list(columns), labels)
        inputs = [_numbers(name, columns[name], file, _NAME_FEATURES) for name in features]
        x = inputs[0] if len(inputs) == 1 and inputs[0].ndim > 1 else np.column_stack(inputs)
        return Rows(
            self._shaped(x, file),
            whose(f"column {labels[0]!r}", columns[labels[0]], file)
            if len(labels) == 1
            else np.column_stack([_numbers(name, columns[name], file) for name in labels]),
            None
            if self.client is None
            else whose(f"column {self.client!r}", columns[self.client], file),
            None if self.test is None else _tested(self.test, columns[self.test], file),
        )

    def _features(self, names: Sequence[str], labels: Sequence[str]) -> Sequence[str]:
        """Return the columns to learn from.

        Args:
            names: of all columns, in the file's order.
            labels: those with what is to be learned.

        Raises:
            InputError: there are none, one can't be, or some other option names no column.
        """
        file = self.source()
        taken = [name for name in (*labels, self.client, self.test) if name is not None]
        for name in (*taken, *self.features):
            known(name, names, "column", file)
        if shown := [name for name in dict.fromkeys(self.features) if name in taken]:
            raise InputError(
                f"{file}: `features` names {', '.join(map(repr, shown))}, which is the label, the "
                "client or the test mark: a model must not see it"
            )
        for what, named in (("features", self.features), ("label", labels)):
            again = next((name for name, n in Counter(named).items() if n > 1), None)
            if again is not None:
                raise InputError(f"{file}: `{what}` names column {again!r} twice")
        features = self.features or [name for name in names if name not in taken]
        if not features:
            raise InputError(f"{file} has no columns to learn from, besides {', '.join(taken)}")
        if nameless := [name for name in features if UNNAMED.fullmatch(name)]:
            at = names.index(nameless[0]) + 1
            raise InputError(
                f"{file}: column {at} has no name, as the row numbers that pandas writes"
                f"{_NAME_FEATURES}"
            )
        return features

    def _shaped(self, x: NDArray[Any], file: Path) -> NDArray[Any]:
        if not self.input_shape:
            return x
        if np.prod(self.input_shape) != np.prod(x.shape[1:]):
            raise InputError(
                f"{file} has {int(np.prod(x.shape[1:]))} numbers in a sample, which can't have "
                f"input_shape {list(self.input_shape)}"
            )
        return x.reshape(len(x), *self.input_shape)


def as_text(cells: Iterable[Any]) -> NDArray[np.str_]:
    """Return `(n,)` cells as text; what is missing is empty."""
    return np.array(["" if cell is None or cell != cell else str(cell).strip() for cell in cells])


def _tested(name: str, column: NDArray[Any], file: Path) -> Flags:
    """Return `(n,)` which samples are for testing."""
    test = for_testing(column)
    said = [] if test.any() else sorted({str(cell).strip() for cell in column})
    if any(value.lower() not in FALSE for value in said):
        raise InputError(
            f"{file}: no cell of column {name!r} says 1, true, yes or test; it holds "
            f"{few(map(repr, said))}"
        )
    return test


def _is_number(cell: Any) -> bool:
    """Whether that is a number in a table, where 1_000 and digits of other scripts are none."""
    if not str(cell).isascii() or "_" in str(cell):
        return False
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError):
        return False


def _numbers(name: str, column: NDArray[Any], file: Path, hint: str = "") -> NDArray[np.float64]:
    """Return `(n, ...)` a column as numbers, each one that float32 can tell of."""
    if column.dtype.kind not in "biuf":
        cells = column.tolist()
        row = next((row for row, cell in enumerate(cells) if not _is_number(cell)), 0)
        odd = cells[row] if cells else None
        raise InputError(
            f"{file}: column {name!r} holds {reprlib.repr(odd)} in row {row + 1} of "
            f"{len(cells):,}, which is no number{hint}"
        )
    with np.errstate(over="ignore"):  # which then isn't finite
        numbers = column.astype(np.float32)
    if not np.isfinite(numbers).all():
        rows = numbers.reshape(len(numbers), -1)
        raise InputError(
            f"{file}: column {name!r} has cells that are empty, not finite or too large, the first "
            f"of them in row {int(np.argmin(np.isfinite(rows).all(axis=1))) + 1} of {len(rows):,}"
        )
    return column.astype(np.float64)
