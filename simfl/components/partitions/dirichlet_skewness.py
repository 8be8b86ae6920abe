"""FedACS's environment: clients of equal size whose label skew itself varies.

"FedACS: Federated Skewness Analytics in Heterogeneous Decentralized Data Environments", definition
2 and section IV-A (docs/algorithms.md, D.4).
"""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import (
    LARGEST,
    deal_counts,
    require_every_class,
    require_room,
    rows_of_classes,
)
from simfl.core.types import Floats, Ids, Rng

LEVELS = {"low": (0.2, 3.0), "high": (0.1, 5.0)}
"""Median and largest concentration of each level of skewness."""
SMALLEST = 1e-5
"""The authors' lower bound of a concentration."""


@partitions.register("dirichlet_skewness")
class DirichletSkewness(Partition):
    """Client i's labels follow Dir(beta_i, .., beta_i); half of the betas are at most the median.

    All clients are of one size, and samples are shared by clients where there are too few (200
    clients with 2,000 of CIFAR-10's 50,000 samples use each about 8 times).  O(n log n).
    """

    level: Literal["low", "high", "iid"] = Field(
        "low", description="FedACS's environments; iid: the same number of every class"
    )
    median: float | None = Field(
        None, ge=SMALLEST, description="median concentration instead of the level's (0.2; 0.1)"
    )
    maximum: float | None = Field(
        None, gt=0, le=LARGEST, description="largest concentration instead of the level's (3; 5)"
    )
    samples: int = Field(2000, ge=1, description="samples per client; FedACS: 2000")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.level == "iid" and (self.median, self.maximum) != (None, None):
            raise ValueError(
                "level iid deals as many of every class to everybody; leave out median and maximum"
            )
        median, maximum = self.bounds
        if median > maximum:
            raise ValueError(f"median ({median}) must be at most maximum ({maximum})")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Median and largest concentration."""
        median, maximum = LEVELS["low" if self.level == "iid" else self.level]
        return (
            median if self.median is None else self.median,
            maximum if self.maximum is None else self.maximum,
        )

    def concentrations(self, clients: int, rng: Rng) -> Floats:
        """Return each client's beta, `(clients,)`: odd ones below the median, even ones above."""
        median, maximum = self.bounds
        position = 1 - rng.random(clients)  # in (0, 1]
        below = SMALLEST + position * (median - SMALLEST)
        above = median + position * (maximum - median)
        return np.where(np.arange(clients) % 2 == 1, below, above)

    def shares(self, clients: int, classes: int, rng: Rng) -> Floats:
        """Return each client's label distribution, `(clients, classes)`."""
        if self.level == "iid":
            return np.full((clients, classes), 1 / classes)
        betas = self.concentrations(clients, rng)
        return np.stack([rng.dirichlet(np.full(classes, beta)) for beta in betas])

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_room(self.name, self.samples, clients)

    @override
    def samples_each(self, samples: int, clients: int) -> int:
        return self.samples

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        classes = source.classes
        self.check(len(source.labels), classes, clients)
        members = rows_of_classes(source.labels, classes)
        require_every_class(self.name, members)
        shares = self.shares(clients, classes, rng)
        wanted = np.floor(shares * self.samples + 1e-9).astype(np.int64)
        rest = self.samples - wanted.sum(axis=1)
        if self.level == "iid":
            wanted += np.arange(classes) < rest[:, None]
        else:
            wanted[np.arange(clients), rng.integers(classes, size=clients)] += rest
        return deal_counts(members, wanted, rng)
