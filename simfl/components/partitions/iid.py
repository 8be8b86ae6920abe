"""Independent and identically distributed clients."""

from typing import ClassVar

import numpy as np
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import require_enough
from simfl.core.types import Ids, Rng


@partitions.register("iid")
class Iid(Partition):
    """Every client holds a random, equal share (to within one sample).  O(n)."""

    reads_labels: ClassVar[bool] = False

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_enough(self.name, samples, clients)

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        n = len(source.labels)
        self.check(n, source.classes, clients)
        return np.array_split(rng.permutation(n), clients)
