"""Clients of very different size: sizes follow a power law, labels stay independent of it."""

from typing import ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import require_enough
from simfl.core.apportion import apportion
from simfl.core.types import Ids, Rng


@partitions.register("power_law")
class PowerLaw(Partition):
    """The i-th largest client's size, beyond `min_samples`, is proportional to i^-exponent.  O(n).

    Every sample is dealt; which client is how large is random.
    """

    reads_labels: ClassVar[bool] = False

    exponent: float = Field(
        1.0, ge=0, description="exponent of the size over the rank (1: Zipf's law; 0: equal sizes)"
    )
    min_samples: int = Field(10, ge=0, description="least samples of every client")

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_enough(self.name, samples, clients, self.min_samples)

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        n = len(source.labels)
        self.check(n, source.classes, clients)
        law = np.arange(1.0, clients + 1) ** -self.exponent
        sizes = self.min_samples + apportion(n - clients * self.min_samples, law)
        ends = np.cumsum(rng.permutation(sizes))[:-1]
        return np.split(rng.permutation(n), ends)
