"""A little is enough (Baruch, Baruch & Goldberg, NeurIPS 2019, arXiv:1902.06156, algorithm 3)."""

from math import floor
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.attacks.base import Attack, Update, attacks
from simfl.core.types import Floats


@attacks.register("a_little_is_enough")
class ALittleIsEnough(Attack):
    """Sends ``mean - z * deviation`` of what its devices learned: within the spread of the honest.

    Mean and standard deviation are taken over the updates of the group's devices that are
    aggregated together, coordinate by coordinate; one alone sends its own.  Memory: O(a * p) for
    so many.
    """

    z: float | None = Field(
        None,
        description="how many standard deviations; omitted: of n updates, m of them forged, the "
        "one that (n - m - s) / (n - m) of a normal distribution are below, s = floor(n / 2 + 1) "
        "- m (0 at least: if they are the majority)",
    )

    @override
    def agree(self, updates: NDArray[np.float32], clients: int) -> Update:
        mean: Floats = updates.mean(axis=0, dtype=np.float64)
        deviation: Floats = updates.std(axis=0, dtype=np.float64)
        z = _z(clients, len(updates)) if self.z is None else self.z
        return (mean - z * deviation).astype(np.float32)


def _z(clients: int, attackers: int) -> float:
    """Return how far they can go such that enough of the honest are further away."""
    honest, supporters = clients - attackers, floor(clients / 2 + 1) - attackers
    share = (honest - supporters) / honest if honest else 0.0
    return max(NormalDist().inv_cdf(share), 0.0) if 0 < share < 1 else 0.0
