"""Round robin: everybody's turn comes equally often (Yang et al., IEEE Trans. Commun. 2020)."""

import numpy as np
from pydantic import PrivateAttr
from typing_extensions import override

from simfl.components.selectors.base import Answers, Selector, View, selectors
from simfl.core.types import Ids, Rng


@selectors.register("round_robin")
class RoundRobin(Selector):
    """Takes the available clients in the order of their ids, going on where it last stopped.

    A client that is away when its turn comes loses this turn.  Tiers and edge servers each go
    their own round.

    Cost: nothing beyond the round itself; O(available).
    """

    _next: dict[int, int] = PrivateAttr(default_factory=dict)  # by tier or edge server

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        ids = view.available
        if not len(ids) or k <= 0:
            return ids[:0]
        start = int(np.searchsorted(ids, self._next.get(view.part, 0)))
        chosen = np.roll(ids, -start)[:k]
        self._next[view.part] = int(chosen[-1]) + 1
        return np.sort(chosen)
