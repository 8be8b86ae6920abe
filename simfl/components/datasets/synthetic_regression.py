"""Linear regression with a different truth at every client.

What Synthetic(alpha, beta) is to classification (Li et al., 2020, arXiv:1812.06127, section 5.1).
"""

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples
from simfl.core.seeds import Seeds
from simfl.core.types import Floats


@datasets.register("synthetic_regression")
class SyntheticRegression(Dataset):
    """``y = W x + b + noise``; 9 tenths of each client's samples train, the rest test."""

    tokens = False
    natural_clients = True
    targets: ClassVar[Targets] = "numbers"

    features: int = Field(20, ge=1, description="numbers of an input")
    outputs: int = Field(1, ge=1, description="numbers to predict")
    clients: int = Field(30, ge=1, description="natural clients")
    samples: int = Field(100, ge=10, description="of each client")
    alpha: float = Field(
        0.1,
        ge=0,
        description="standard deviation of W and b among clients, relative to that of the part "
        "that all share",
    )
    beta: float = Field(0.1, ge=0, description="standard deviation of the clients' mean inputs")
    noise: float = Field(0.1, ge=0, description="standard deviation of the noise")

    @property
    @override
    def natural_known(self) -> int:
        return self.clients

    @property
    @override
    def samples_known(self) -> int:
        return self.clients * self._training

    @property
    def _training(self) -> int:
        """How many samples of each client train."""
        return int(0.9 * self.samples)

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (self.features,), self.outputs

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        rng = seeds.stream("data", "synthetic_regression")
        shape = (self.clients, self.samples, self.features)
        x = rng.standard_normal(shape) + self.beta * rng.standard_normal((self.clients, 1, 1))
        common = rng.standard_normal((self.features + 1, self.outputs))
        own = rng.standard_normal((self.clients, *common.shape))
        truth = (common + self.alpha * own) / np.sqrt(self.features)
        y = x @ truth[:, :-1] + truth[:, -1:]
        y += self.noise * rng.standard_normal(y.shape)
        cut = self._training
        test = Samples(*(_rows(part[:, cut:]) for part in (x, y)))
        train = Samples(*(_rows(part[:, :cut]) for part in (x, y)))
        owned, tested = (np.split(np.arange(len(part)), self.clients) for part in (train, test))
        return Corpus(train, test, self.outputs, owned, tested)


def _rows(parts: Floats) -> NDArray[np.float32]:
    """Return `(clients, n, d)` as `(clients * n, d)`."""
    return parts.reshape(-1, parts.shape[2]).astype(np.float32)
