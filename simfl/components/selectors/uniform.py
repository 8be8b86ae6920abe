"""Random (uniform) client selection without replacement, as in FedAvg (McMahan et al., 2017)."""

from typing_extensions import override

from simfl.components.selectors.base import Answers, Selector, View, selectors
from simfl.core.types import Ids, Rng


@selectors.register("uniform")
class Uniform(Selector):
    """Every available client is equally likely.

    Cost: nothing beyond the round itself; O(k / share of the fleet that is available).
    """

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        return view.draw(k, rng)
