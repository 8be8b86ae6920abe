"""An archive of NumPy arrays."""

import zipfile
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.own.base import OwnDataset
from simfl.components.datasets.own.rows import Rows, for_testing, known, whose
from simfl.errors import InputError


@datasets.register("npz")
class Npz(OwnDataset):
    """Your own arrays, as `numpy.savez` writes them: inputs `(n, ...)` and labels `(n,)`."""

    file: str = Field(description="NPZ file, beside the scenario", examples=["data.npz"])
    inputs: str = Field("x", description="array with the inputs, (n, ...)")
    label: str = Field("y", description="array with the targets, (n,)")
    client: str | None = Field(None, description="array with the client of each sample, (n,)")
    test: str | None = Field(
        None,
        description="array that marks the test samples (1, true, yes or test; all others train), "
        "(n,)",
    )
    test_inputs: str | None = Field(None, description="array with further inputs, for testing")
    test_label: str | None = Field(None, description="array with their labels")

    @model_validator(mode="after")
    def _has_both(self) -> Self:
        if (self.test_inputs is None) != (self.test_label is None):
            raise ValueError("`test_inputs` and `test_label` go together: one of them is missing")
        return self

    @override
    def source(self) -> Path:
        return self._root / self.file

    @override
    def rows(self) -> Rows:
        file = self.source()
        if file.is_file() and not zipfile.is_zipfile(file):
            raise InputError(
                f"can't read {file}: it is not an archive (.npz) of arrays, or not all of one"
            )
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return self._rows(arrays)
        except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"can't read {file}: {error}") from None

    def _array(self, arrays: Any, name: str) -> NDArray[Any]:
        """Return `(n, ...)` one of the archive's arrays."""
        try:
            found = np.asarray(arrays[known(name, arrays.files, "array", self.source())])
        except ValueError as error:
            if isinstance(error, InputError) or "allow_pickle" not in str(error):
                raise
            raise InputError(
                f"{self.source()}: array {name!r} holds Python objects, not numbers or text; if "
                "they are arrays, one a client, join them with `np.concatenate`, beside an array "
                "that says whose each sample is (option `client`); if they are text, save "
                "`array.astype(str)`"
            ) from None
        if not found.ndim:
            raise InputError(
                f"{self.source()}: array {name!r} is a single value, expected one a sample"
            )
        return found

    def _rows(self, arrays: Any) -> Rows:
        array = partial(self._array, arrays)
        x, label = array(self.inputs), array(self.label)
        if x.dtype.kind not in "biuf":
            raise InputError(f"{self.source()}: array {self.inputs!r} holds no numbers")
        client = None
        if self.client is not None:
            client = whose(f"array {self.client!r}", array(self.client), self.source())
        test = None if self.test is None else for_testing(array(self.test).tolist())
        self._same_length(len(label), {"client": client, "test": test})
        rows = Rows(x, label, client, test)
        if self.test_inputs is None or self.test_label is None:
            return rows
        more, more_label = array(self.test_inputs), array(self.test_label)
        if more.shape[1:] != x.shape[1:]:
            raise InputError(
                f"{self.source()}: inputs of {self.test_inputs!r} have shape {more.shape[1:]}, of "
                f"{self.inputs!r} {x.shape[1:]}"
            )
        return rows.with_test(more, more_label)

    def _same_length(self, n: int, arrays: dict[str, NDArray[Any] | None]) -> None:
        for option, array in arrays.items():
            if array is not None and array.shape != (n,):
                raise InputError(
                    f"{self.source()}: the array for `{option}` has shape {array.shape}, expected "
                    f"({n},)"
                )
