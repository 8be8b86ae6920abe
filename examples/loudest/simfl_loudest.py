"""Select the clients whose last training loss was largest.

An example of a third-party component: one class, its options as typed fields, and one abstract
method.  `tests/plugins` installs it and runs simfl's contract suite over it.
"""

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.selectors.base import Reports, Selector, View, selectors
from simfl.core.types import Ids


@selectors.register("loudest")
class Loudest(Selector):
    """Takes the largest last known losses; whoever was never heard comes first.

    Cost: nothing beyond the round itself; O(available log available).
    """

    shy: bool = Field(False, description="the smallest losses instead")

    @override
    def select(
        self, view: View, reports: tuple[Reports, ...], k: int, rng: np.random.Generator
    ) -> Ids:
        """Ties go to the lowest id."""
        loss = np.nan_to_num(view.history.loss[view.available], nan=np.inf)
        order = np.argsort(loss if self.shy else -loss, kind="stable")
        return np.sort(view.available[order[:k]])
