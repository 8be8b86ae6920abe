"""The very cohorts of FedCore's published tables.

Guo et al., FedCore; the authors draw round r's clients uniformly without replacement from NumPy's
legacy generator seeded with r (docs/algorithms.md, 0.1 and F.4), and so does this.
"""

import numpy as np
from typing_extensions import override

from simfl.components.selectors.base import Answers, Selector, View, selectors
from simfl.core.types import Ids, Rng


@selectors.register("fedcore_cohorts")
class FedcoreCohorts(Selector):
    """Round r asks ``RandomState(r).choice(n, k, replace=False)``, whatever the run's seed.

    For reproducing the paper's tables; `uniform` is the same distribution on the run's own streams.
    Clients that are not available are left out.  Cost: O(n).
    """

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        legacy = np.random.RandomState(view.round)  # the authors' own stream
        drawn = legacy.choice(view.clients, min(k, view.clients), replace=False)
        chosen = np.sort(drawn[np.isin(drawn, view.available)])
        # Nobody of them there: anybody rather than an empty round.
        return chosen.astype(np.int64) if len(chosen) else view.draw(k, rng)
