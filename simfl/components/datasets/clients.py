"""Who holds which training samples: what a federation's data are to everybody else."""

from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.core.types import Ids
from simfl.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Samples:
    """Inputs `x` `(n, ...)` (float32, or int64 tokens) and targets `y`, see `Dataset.targets`."""

    x: NDArray[Any]
    y: NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)

    def with_labels_of_int64(self) -> "Samples":
        """Return these with whole numbers `y` `(n,)`, of whatever type, as losses take them."""
        whole = self.y.ndim == 1 and self.y.dtype.kind in "biu" and self.y.dtype != np.int64
        return Samples(self.x, self.y.astype(np.int64)) if whole else self


@dataclass(frozen=True)
class Cohort:
    """The samples of some clients: one tensor pair and, per client, its rows of it.

    Attributes:
        x: `(n, ...)` inputs.
        y: `(n, ...)` targets.
        rows: per client `(n_k,)` int64 rows of `x` and `y`.
    """

    x: "torch.Tensor"
    y: "torch.Tensor"
    rows: Sequence[Ids]


def side_by_side(parts: Sequence[Sized]) -> list[Ids]:
    """Return `(n_k,)` the rows of each part once all lie one behind the other."""
    ends = np.cumsum([len(part) for part in parts])
    return [np.arange(end - len(part), end) for part, end in zip(parts, ends, strict=True)]


class ClientData(ABC):
    """The local data of `n` clients; picklable, so that a worker can be given them once.

    Attributes:
        names: `(n,)` what the data set calls each (None: it does not say, or they are not its own).
    """

    names: NDArray[np.str_] | None = None

    @property
    @abstractmethod
    def sizes(self) -> Ids:
        """`(n,)` training samples of each client."""

    @property
    def validation_sizes(self) -> Ids:
        """`(n,)` samples that each client keeps aside for its local loss (by default none)."""
        return np.zeros(len(self.sizes), dtype=np.int64)

    @property
    def label_counts(self) -> NDArray[np.int64] | None:
        """`(n, classes)` labels of each client's training samples, where known without effort."""
        return None

    @abstractmethod
    def training(self, clients: Sequence[int]) -> Cohort:
        """Return what these clients train on, in the order asked."""

    def validation(self, clients: Sequence[int]) -> Cohort:
        """Return what these clients measure their local loss on.

        A client that keeps no validation part measures it on its training data.
        """
        return self.training(clients)

    def altered(self, client: int, round_: int) -> bool:
        """Return whether what a client trains on is another thing in a round than at the start."""
        return False

    def training_in(self, clients: Sequence[int], rounds: Sequence[int]) -> Cohort:
        """Return what these clients train on in the round that stands beside each."""
        return self.training(clients)

    def validation_in(self, clients: Sequence[int], round_: int) -> Cohort:
        """Return what these clients measure their local loss on in a round."""
        return self.validation(clients)

    @abstractmethod
    def everybodys(self) -> Samples:
        """Return all training samples, each once.

        Raises:
            InputError: there are too many to be held.
        """


class OnDemand(ClientData):
    """Clients whose samples are made when asked for; nothing is kept from one call to the next.

    So nothing is held for those who never take part.  A pickle should hold the recipe, not what has
    been made from it.
    """

    @property
    @abstractmethod
    def test(self) -> Samples:
        """Test samples of the whole federation."""

    @abstractmethod
    def client(self, client: int) -> Samples:
        """Return the training samples of one client: always the same, in whatever order asked."""

    @override
    def training(self, clients: Sequence[int]) -> Cohort:
        import torch

        parts = [self.client(client).with_labels_of_int64() for client in clients]
        return Cohort(
            torch.from_numpy(np.concatenate([part.x for part in parts])),
            torch.from_numpy(np.concatenate([part.y for part in parts])),
            side_by_side(parts),
        )

    @override
    def everybodys(self) -> Samples:
        raise InputError("evaluation.on: train needs a data set that is held in memory")
