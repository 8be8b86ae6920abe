"""Data sets of Hugging Face, from disk or the user's cache (``simfl[huggingface]``)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import datasets
from simfl.components.datasets.own.pixels import mode_of, pixels
from simfl.components.datasets.own.rows import Rows, known
from simfl.components.datasets.own.tables import TableDataset
from simfl.components.datasets.parquet import array_of
from simfl.core.extras import extra
from simfl.core.words import numbered
from simfl.errors import InputError

_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
"""What the package calls it, of late and before version 2.20."""


@datasets.register("hugging_face")
class HuggingFace(TableDataset):
    """A data set that `save_to_disk` wrote, or one of the hub's that is in your cache already.

    Nothing is downloaded: `datasets.load_dataset(NAME)` in Python does that, once.
    Pictures become pixels in [0, 1], channels first.
    """

    path: str = Field(
        description="folder beside the scenario, or name on the Hugging Face hub",
        examples=["my_data"],
    )
    config: str | None = Field(None, description="name of the configuration, on the hub")
    split: str = Field("train", description="split to train on")
    test_split: str | None = Field(
        None, description="split to test on; omitted: drawn (`test_share`)"
    )

    @override
    def source(self) -> Path:
        folder = self._root / self.path
        return folder if folder.is_dir() else self._root

    @override
    def rows(self) -> Rows:
        rows = super().rows()
        if self.test_split is None:
            return rows
        trained = len(self._split(self.split))
        return replace(rows, test=np.arange(len(rows.label)) >= trained)

    @override
    def columns(self) -> Mapping[str, NDArray[Any]]:
        parts = [self._split(self.split)]
        if self.test_split is not None:
            parts.append(self._split(self.test_split))
        return {
            name: self._column(name, [cell for part in parts for cell in self._cells(part, name)])
            if self._looked_at(name)
            else np.zeros(0)
            for name in parts[0].column_names
            if all(name in part.column_names for part in parts)
        }

    def _looked_at(self, name: str) -> bool:
        """Return whether a column is: `features` may leave it out, and its pictures with it."""
        labels = (self.label,) if isinstance(self.label, str) else self.label
        return not self.features or name in (*self.features, *labels, self.client, self.test)

    def _column(self, name: str, cells: list[Any]) -> NDArray[Any]:
        """Return `(n, ...)` a column; pictures as `(n, channels, height, width)`."""
        if not any(hasattr(cell, "getbands") for cell in cells):
            return array_of(cells)
        if empty := [row for row, cell in enumerate(cells, 1) if cell is None]:
            raise InputError(
                f"{self.path!r}: column {name!r} has {numbered(len(empty), 'empty cell')}, the "
                f"first of them in row {empty[0]:,} of {len(cells):,}"
            )
        grey = all(mode_of(cell) == "grey" for cell in cells)
        try:
            pictures = [pixels(cell, "grey" if grey else "colour") for cell in cells]
        except InputError as error:
            raise InputError(f"{self.path!r}: column {name!r}: {error}") from None
        if len(sizes := {picture.shape for picture in pictures}) > 1:
            raise InputError(
                f"{self.path!r}: column {name!r} has pictures of {len(sizes)} sizes; scale them to "
                "one first"
            )
        return np.stack(pictures)

    def _cells(self, part: Any, name: str) -> list[Any]:
        """Return the cells of a column of a split."""
        try:
            return list(part[name][:])
        except Exception as error:  # whatever Pillow makes of a picture that is none
            raise InputError(f"{self.path!r}: column {name!r} can't be decoded: {error}") from None

    def _split(self, split: str) -> Any:
        hub = extra("datasets", "huggingface", "data set 'hugging_face'")
        folder = self._root / self.path
        try:
            if folder.is_dir():
                made = hub.load_from_disk(str(folder))
            else:
                with _offline(hub):
                    made = hub.load_dataset(self.path, self.config)
        except Exception as error:
            nowhere = f"is neither a folder {folder} nor in the cache of Hugging Face"
            problem = "can't be read" if folder.is_dir() else nowhere
            raise InputError(f"{self.path!r} {problem}: {error}") from None
        if isinstance(made, dict):
            made = made[known(split, list(made), "split", self.path)]
        if not len(made):
            raise InputError(f"{self.path!r} has no row in its split {split!r}")
        return made


@contextmanager
def _offline(hub: Any) -> Iterator[None]:
    """Let the package ask nobody but the cache, and do as it did before once this is over.

    The environment's HF_HUB_OFFLINE is looked at only as it is imported, which a user's program may
    have done before, or do later to download.
    """
    before = {name: getattr(hub.config, name) for name in _OFFLINE if hasattr(hub.config, name)}
    try:
        for name in before:
            setattr(hub.config, name, True)
        yield
    finally:
        for name, value in before.items():
            setattr(hub.config, name, value)
