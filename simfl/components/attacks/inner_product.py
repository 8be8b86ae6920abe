"""Inner-product manipulation (Xie, Koyejo & Gupta, UAI 2019, arXiv:1903.03936, section 4)."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.attacks.base import Attack, Update, attacks
from simfl.core.types import Floats


@attacks.register("inner_product")
class InnerProduct(Attack):
    """Sends ``-epsilon`` times the mean of what its devices learned.

    The paper's attackers know everybody's updates; these know those of the group's devices that are
    aggregated together.  Memory: O(a * p) for so many.
    """

    epsilon: float = Field(
        0.1, gt=0, description="how long, compared with the mean (the paper: 0.1 to 100)"
    )

    @override
    def agree(self, updates: NDArray[np.float32], clients: int) -> Update:
        mean: Floats = updates.mean(axis=0, dtype=np.float64)
        return (-self.epsilon * mean).astype(np.float32)
