"""Who holds which samples: the data side of local training."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from typing_extensions import override

from simfl.core.types import Ids


@dataclass(frozen=True)
class Cohort:
    """The samples of some clients: one tensor pair and, per client, its rows of it.

    Attributes:
        x: `(n, ...)` inputs.
        y: `(n,)` int64 targets.
        rows: per client `(n_k,)` int64 rows of `x` and `y`.
    """

    x: torch.Tensor
    y: torch.Tensor
    rows: Sequence[Ids]


class ClientData(Protocol):
    """The local data of `n` clients; may hold everything, or make a client's data on demand."""

    @property
    def sizes(self) -> Ids:
        """`(n,)` training samples of each client."""

    def training(self, clients: Sequence[int]) -> Cohort:
        """Return what these clients train on, in the order asked."""

    def validation(self, clients: Sequence[int]) -> Cohort:
        """Return what these clients measure their local loss on.

        A client that keeps no validation part measures it on its training data.
        """


@dataclass(frozen=True)
class Partitioned(ClientData):
    """Clients hold rows of one data set in memory."""

    x: torch.Tensor
    y: torch.Tensor
    train_rows: Sequence[Ids]
    validation_rows: Sequence[Ids]

    @cached_property
    @override
    def sizes(self) -> Ids:
        return np.array([len(rows) for rows in self.train_rows], dtype=np.int64)

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
