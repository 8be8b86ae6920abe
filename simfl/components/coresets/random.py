"""A uniformly random coreset: the null method that every other must beat."""

import numpy as np
from typing_extensions import override

from simfl.components.coresets.base import Coreset, coresets
from simfl.core.types import Floats, Ids, Rng


@coresets.register("random")
class Random(Coreset):
    """`b` rows drawn uniformly without replacement, each standing for ``m / b``: unbiased.

    Cost: no feature pass, O(m).
    """

    @override
    def choose(self, features: Floats, labels: Ids, size: int, rng: Rng) -> tuple[Ids, Floats]:
        """`features` is not looked at."""
        m = len(labels)
        b = min(size, m)
        rows = np.sort(rng.choice(m, size=b, replace=False)).astype(np.int64)
        return rows, np.full(b, m / b)
