"""Clustered sampling by similarity of the clients' last updates.

Fraboni et al., "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021, Algorithm 2; docs/algorithms.md, A.8.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.selectors.base import Answers, RoundOutcome, Selector, View, selectors
from simfl.components.selectors.mathematics.urns import draw, fill
from simfl.components.selectors.mathematics.vectors import Metric, distances, row_distances
from simfl.components.selectors.mathematics.ward import Merges, ward
from simfl.core.machine.memory import require_memory
from simfl.core.types import Floats, Ids, Rng

METRICS: dict[str, Metric] = {"arccos": "arccos", "L2": "squared_L2", "L1": "L1"}


@selectors.register("clustered")
class Clustered(Selector):
    """Groups clients by their last updates (Ward), fills one urn per place, draws one from each.

    A client is drawn ``k p_k`` times in expectation, and possibly twice in a round: with uniform
    aggregation (`weighting: uniform`) that is unbiased, with less variance than independent draws.
    Where no more are available than asked for, each is taken once, which is not.
    A client that never took part counts as a zero update.

    Cost: nothing beyond the round itself.  Server, with U clients whose updates are known: O(k U p)
    to compare a round's updates with these; before each choice O(N + U^2) and 20 U^2 bytes for
    Ward's linkage, O(U^3) for the distances of rows.
    """

    needs_updates: ClassVar[bool] = True
    needs_training: ClassVar[bool] = True

    similarity: Literal["arccos", "L2", "L1"] = Field(
        "arccos",
        description="distance of two updates: angle, squared Euclidean or L1 (section 5, code)",
    )
    linkage_input: Literal["rows", "condensed"] = Field(
        "rows",
        description="what Ward's method clusters: the rows of the distance matrix as points "
        "(authors' code), or the distances themselves",
    )

    _updates: dict[int, NDArray[np.float32]] = PrivateAttr(default_factory=dict)
    _distances: Floats | None = PrivateAttr(default=None)
    """Of the zero update, which all others have, and of the updates in their order."""
    _order: Ids | None = PrivateAttr(default=None)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        """May contain an id repeatedly."""
        self._prepare(view.clients, rng)
        ids = view.available
        if len(ids) <= k or k <= 0:
            return ids[: max(k, 0)]
        assert self._order is not None
        # In an order of its own, lest equal distances be clustered by id.
        ids = self._order[np.isin(self._order, ids)]
        urns = fill(view.history.samples[ids], k, self._linkage(ids), rng)
        return np.sort(ids[draw(urns, rng)])

    @override
    def observe(self, outcome: RoundOutcome) -> None:
        if outcome.updates is None or self._distances is None:
            return
        finite = np.isfinite(outcome.updates).all(axis=1)
        changed, vectors = outcome.arrived[finite], outcome.updates[finite]
        if not len(changed):
            return
        fresh = dict(zip(changed.tolist(), vectors, strict=True))
        self._updates = {**self._updates, **fresh}
        table = np.stack([0 * vectors[0], *self._updates.values()])
        rows = distances(vectors, table, METRICS[self.similarity])
        places = self._places(changed)
        rows[np.arange(len(changed)), places] = 0.0
        matrix = np.zeros((len(table), len(table)))
        before = len(self._distances)
        matrix[:before, :before] = self._distances
        matrix[places] = rows
        matrix[:, places] = rows.T
        self._distances = matrix

    def _prepare(self, n: int, rng: Rng) -> None:
        """Put clients not there before, of `n`, into the order."""
        if self._distances is None or self._order is None:
            self._distances, self._order = np.zeros((1, 1)), np.zeros(0, dtype=np.int64)
        known = len(self._order)
        if known < n:
            self._order = np.append(self._order, known + rng.permutation(n - known))

    def _places(self, ids: Ids) -> Ids:
        """Return `(n,)` which row of the distances is that of each client."""
        places = {client: place for place, client in enumerate(self._updates, start=1)}
        return np.array([places.get(client, 0) for client in ids.tolist()], dtype=np.int64)

    def _linkage(self, ids: Ids) -> Merges:
        """Return Ward's linkage of clients; those whose updates are not known are all alike."""
        assert self._distances is not None
        rows, members, sizes = np.unique(self._places(ids), return_inverse=True, return_counts=True)
        # The distances, those of their rows, and these once more, pair by pair.
        known = f"selector 'clustered' with {len(rows):,} known updates"
        require_memory(20 * len(rows) ** 2, known)
        between = self._distances[np.ix_(rows, rows)]
        if self.linkage_input == "rows":
            between = row_distances(between, sizes)
        return ward(between, members)
