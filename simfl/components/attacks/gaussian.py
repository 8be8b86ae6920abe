"""Noise in place of updates (Blanchard et al., 2017, arXiv:1703.02757, section 5)."""

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.attacks.base import Attack, Update, attacks
from simfl.core.types import Rng


@attacks.register("gaussian")
class Gaussian(Attack):
    """Sends ``N(0, sigma^2)`` for each parameter, whatever was learned."""

    sigma: float = Field(
        1.0, gt=0, description="standard deviation of each number (the paper, of gradients: 200)"
    )

    @override
    def forge(self, update: Update, rng: Rng) -> Update:
        return np.float32(self.sigma) * rng.standard_normal(len(update), dtype=np.float32)
