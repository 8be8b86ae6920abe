"""Independent and identically distributed clients."""

from typing import ClassVar

import numpy as np
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.core.types import Ids
from simfl.errors import InputError


@partitions.register("iid")
class Iid(Partition):
    """Every client holds a random, equal share (to within one sample).  O(n)."""

    reads_labels: ClassVar[bool] = False

    @override
    def deal(self, source: Source, clients: int, rng: np.random.Generator) -> list[Ids]:
        n = len(source.labels)
        if n < clients:
            raise InputError(f"partition 'iid' can't deal {n} samples to {clients} clients")
        return np.array_split(rng.permutation(n), clients)
