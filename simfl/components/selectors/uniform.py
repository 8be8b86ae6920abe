"""Uniform client selection without replacement, as in FedAvg (McMahan et al., 2017)."""

import numpy as np
from typing_extensions import override

from simfl.components.selectors.base import Reports, Selector, View, selectors
from simfl.core.types import Ids


@selectors.register("uniform")
class Uniform(Selector):
    """Every available client is equally likely.

    Cost: nothing beyond the round itself; O(k / share of the fleet that is available).
    """

    @override
    def select(
        self, view: View, reports: tuple[Reports, ...], k: int, rng: np.random.Generator
    ) -> Ids:
        return view.draw(k, rng)
