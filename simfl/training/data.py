"""Client data in memory: a data set, dealt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.datasets.clients import ClientData, Cohort, Samples
from simfl.core.labels import label_counts
from simfl.core.types import Ids

if TYPE_CHECKING:  # who only asks how much each client holds must not wait for it
    import torch


@dataclass(frozen=True)
class Partitioned(ClientData):
    """Clients hold rows of one data set in memory.

    Attributes:
        samples: of all clients.
        train_rows: per client the rows that it trains on.
        validation_rows: per client the rows that it only measures its local loss on.
        classes: number of classes; None: labels are not counted.
        names: see `ClientData`.
        later: by client the round from which it trains on other rows, as many, and which.
    """

    samples: Samples
    train_rows: Sequence[Ids]
    validation_rows: Sequence[Ids]
    classes: int | None = None
    names: NDArray[np.str_] | None = None
    later: Mapping[int, tuple[int, Ids]] = field(default_factory=dict)

    @cached_property
    def x(self) -> "torch.Tensor":
        """`(m, ...)` inputs."""
        import torch

        return torch.from_numpy(self.samples.x)

    @cached_property
    def y(self) -> "torch.Tensor":
        """`(m, ...)` targets."""
        import torch

        return torch.from_numpy(self.samples.y)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Leave out what can be counted again, and names: workers need no label counts.

        They are sent tensors, which all processes of a machine can share.
        """
        rows = self.train_rows, self.validation_rows
        return _received, (type(self), self.x, self.y, *rows, self.classes, self.later)

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
        return label_counts(self.train_rows, self.samples.y, self.classes)

    @override
    def training(self, clients: Sequence[int]) -> Cohort:
        return Cohort(self.x, self.y, [self.train_rows[client] for client in clients])

    @override
    def validation(self, clients: Sequence[int]) -> Cohort:
        return self.validation_in(clients, 0)

    @override
    def altered(self, client: int, round_: int) -> bool:
        return client in self.later and round_ >= self.later[client][0]

    @override
    def training_in(self, clients: Sequence[int], rounds: Sequence[int]) -> Cohort:
        if not self.later:
            return self.training(clients)
        rows = [self._rows(client, at) for client, at in zip(clients, rounds, strict=True)]
        return Cohort(self.x, self.y, rows)

    @override
    def validation_in(self, clients: Sequence[int], round_: int) -> Cohort:
        rows = [
            aside if len(aside := self.validation_rows[client]) else self._rows(client, round_)
            for client in clients
        ]
        return Cohort(self.x, self.y, rows)

    def _rows(self, client: int, round_: int) -> Ids:
        """Return `(n_k,)` the rows that a client trains on in a round."""
        return self.later[client][1] if self.altered(client, round_) else self.train_rows[client]

    @override
    def everybodys(self) -> Samples:
        rows = np.concatenate(self.train_rows)
        if np.bincount(np.concatenate([rows, *self.validation_rows])).max() > 1:
            rows = np.unique(rows)  # else they come client by client, wherever they lie
        return Samples(self.samples.x[rows], self.samples.y[rows])


def _received(
    kind: type[Partitioned],
    x: "torch.Tensor",
    y: "torch.Tensor",
    train_rows: Sequence[Ids],
    validation_rows: Sequence[Ids],
    classes: int | None,
    later: Mapping[int, tuple[int, Ids]],
) -> Partitioned:
    samples = Samples(x.numpy(), y.numpy())
    return kind(samples, train_rows, validation_rows, classes, later=later)
