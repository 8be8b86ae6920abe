"""Client data in memory: a data set, dealt."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.datasets.clients import ClientData, Cohort, Samples
from simfl.core.labels import label_counts
from simfl.core.types import Ids


@dataclass(frozen=True)
class Partitioned(ClientData):
    """Clients hold rows of one data set in memory.

    Attributes:
        x: `(m, ...)` inputs.
        y: `(m,)` int64 targets.
        train_rows: per client the rows that it trains on.
        validation_rows: per client the rows that it only measures its local loss on.
        classes: number of classes; None: `y` is not counted.
    """

    x: torch.Tensor
    y: torch.Tensor
    train_rows: Sequence[Ids]
    validation_rows: Sequence[Ids]
    classes: int | None = None

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Leave out what can be counted again: workers need no label counts."""
        return type(self), (self.x, self.y, self.train_rows, self.validation_rows, self.classes)

    @cached_property
    @override
    def sizes(self) -> Ids:
        return np.array([len(rows) for rows in self.train_rows], dtype=np.int64)

    @cached_property
    @override
    def validation_sizes(self) -> Ids:
        return np.array([len(rows) for rows in self.validation_rows], dtype=np.int64)

    @cached_property
    @override
    def label_counts(self) -> NDArray[np.int64] | None:
        if self.classes is None:
            return None
        return label_counts(self.train_rows, self.y.numpy(), self.classes)

    @override
    def training(self, clients: Sequence[int]) -> Cohort:
        return Cohort(self.x, self.y, [self.train_rows[client] for client in clients])

    @override
    def validation(self, clients: Sequence[int]) -> Cohort:
        rows = [
            self.validation_rows[client]
            if len(self.validation_rows[client])
            else self.train_rows[client]
            for client in clients
        ]
        return Cohort(self.x, self.y, rows)

    @override
    def everybodys(self) -> Samples:
        rows = np.unique(np.concatenate(self.train_rows))
        return Samples(self.x.numpy()[rows], self.y.numpy()[rows])
