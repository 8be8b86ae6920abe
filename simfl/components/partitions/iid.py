"""Independent and identically distributed clients."""

import numpy as np

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.core.work import Ids
from simfl.errors import InputError


@partitions.register("iid")
class Iid(Partition):
    """Every client holds a random, equal share (to within one sample).  O(n)."""

    def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
        """See `Partition.deal`."""
        n = len(source.labels)
        if n < clients:
            raise InputError(f"partition 'iid' can't deal {n} samples to {clients} clients")
        return np.array_split(rng.permutation(n), clients)
