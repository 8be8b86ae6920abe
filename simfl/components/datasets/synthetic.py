"""Synthetic(alpha, beta): logistic regression with a different truth at every client.

Li et al., "Federated Optimization in Heterogeneous Networks" (FedProx), arXiv:1812.06127, section
5.1; the stream of random numbers is that of the released generator, which FedCore seeds with 0
(docs/algorithms.md, D.6).
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples, side_by_side
from simfl.core.machine.memory import require_memory
from simfl.core.seeds import Seeds
from simfl.core.types import Floats, Ids
from simfl.core.words import numbered

FEATURES, CLASSES = 60, 10

LEAST = 50
"""Samples that each client has at least."""


@datasets.register("synthetic")
class Synthetic(Dataset):
    """60 features, 10 classes; 9 tenths of each client's samples train, the rest test."""

    tokens = False
    natural_clients = True

    alpha: float = Field(
        1.0,
        ge=0,
        description="standard deviation of the clients' mean parameter: how their models differ",
    )
    beta: float = Field(
        1.0,
        ge=0,
        description="standard deviation of the clients' mean input: how their data differ",
    )
    clients: int = Field(30, ge=1, description="natural clients (30 in the papers)")
    iid: bool = Field(
        False, description="one model and one input distribution for all; alpha, beta unused"
    )
    generator_seed: int | None = Field(
        0,
        ge=0,
        le=2**32 - 1,
        description="seed of the data themselves (0 in FedCore); null: the run's own seed",
    )

    @property
    @override
    def natural_known(self) -> int:
        return self.clients

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (FEATURES,), CLASSES

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        seed = self.generator_seed
        if seed is None:
            seed = seeds.number("data", "synthetic") % 2**32
        clients = self._generate(seed)
        train: list[Ids] = []
        test: list[Ids] = []
        start = 0
        for client, (_, y) in enumerate(clients):
            rows = start + Seeds(seed).stream("data", "split", client).permutation(len(y))
            cut = int(0.9 * len(y))
            train.append(rows[:cut])
            test.append(rows[cut:])
            start += len(y)
        everything = Samples(
            np.concatenate([x for x, _ in clients]), np.concatenate([y for _, y in clients])
        )
        samples = _take(everything, train), _take(everything, test)
        return Corpus(*samples, CLASSES, side_by_side(train), side_by_side(test))

    def _generate(self, seed: int) -> list[tuple[NDArray[np.float32], Ids]]:
        # Published sizes and accuracies depend on this very stream and on the order of its draws.
        rng = np.random.RandomState(seed)
        self._require_room(LEAST * self.clients)
        sizes = rng.lognormal(4, 2, self.clients).astype(np.int64) + LEAST
        self._require_room(int(sizes.sum()))
        spread = np.arange(1, FEATURES + 1) ** -0.6  # inputs have covariance diag(j^-1.2)
        if self.iid:
            w, b = rng.normal(0, 1, (FEATURES, CLASSES)), rng.normal(0, 1, CLASSES)
            return [_label(rng.standard_normal((size, FEATURES)) * spread, w, b) for size in sizes]
        mean_parameter = rng.normal(0, self.alpha, self.clients)
        mean_input = rng.normal(0, self.beta, self.clients)
        centres = [rng.normal(mean, 1, FEATURES) for mean in mean_input]
        clients = []
        for size, mean, centre in zip(sizes, mean_parameter, centres, strict=True):
            w, b = rng.normal(mean, 1, (FEATURES, CLASSES)), rng.normal(mean, 1, CLASSES)
            x = rng.standard_normal((size, FEATURES)) * spread + centre
            clients.append(_label(x, w, b))
        return clients

    def _require_room(self, samples: int) -> None:
        """Raise an error if at least so many samples are more than can be made in memory.

        Raises:
            InputError: they are.
        """
        each = 4 * FEATURES + 8  # thrice: of each client, together, and dealt to train and test
        what = f"data set {self.name!r} with {numbered(self.clients, 'client')}"
        require_memory(3 * each * samples, what)


def _label(x: Floats, w: Floats, b: Floats) -> tuple[NDArray[np.float32], Ids]:
    return x.astype(np.float32), np.argmax(x @ w + b, axis=1)


def _take(samples: Samples, rows: list[Ids]) -> Samples:
    chosen = np.concatenate(rows)
    return Samples(samples.x[chosen], samples.y[chosen])
