"""Label shards: each client sees only a few labels.

McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", 2017,
section 3; 1SPC and 2SPC in FedCor, Tang et al., arXiv:2103.13822 (docs/algorithms.md, D.1).
"""

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.core.types import Ids, Rng
from simfl.core.words import numbered
from simfl.errors import InputError


@partitions.register("shards")
class Shards(Partition):
    """Sorts samples by label, cuts them into equal shards and deals `per_client` random ones each.

    Samples beyond the last whole shard are left out.  O(n log n).
    """

    per_client: int = Field(2, ge=1, description="shards of each client; FedCor: 1 and 2")

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        shards = clients * self.per_client
        if samples < shards:
            raise InputError(
                f"partition {self.name!r} can't cut {numbered(samples, 'sample')} into "
                f"{numbered(shards, 'shard')} ({numbered(clients, 'client')} with "
                f"{self.per_client} each)"
            )

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        self.check(len(source.labels), source.classes, clients)
        shards = clients * self.per_client
        size = len(source.labels) // shards
        by_label = np.argsort(source.labels, kind="stable")[: shards * size].reshape(shards, size)
        dealt = by_label[rng.permutation(shards)].reshape(clients, self.per_client * size)
        return list(rng.permuted(dealt, axis=1))
