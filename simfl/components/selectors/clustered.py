"""Clustered sampling by similarity of the clients' last updates.

Fraboni et al., "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021, Algorithm 2; docs/algorithms.md, A.8.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.selectors._urns import draw, fill
from simfl.components.selectors._vectors import Metric, distances
from simfl.components.selectors.base import Reports, RoundOutcome, Selector, View, selectors
from simfl.core.memory import require_memory
from simfl.core.types import Floats, Ids

METRICS: dict[str, Metric] = {"arccos": "arccos", "L2": "squared_L2", "L1": "L1"}


@selectors.register("clustered")
class Clustered(Selector):
    """Groups clients by their last updates (Ward), fills one urn per place, draws one from each.

    A client is drawn ``k p_k`` times in expectation, and possibly twice in a round: with uniform
    aggregation (`weighting: uniform`) that is unbiased, with less variance than independent draws.
    A client that never took part counts as a zero update.

    Cost: nothing beyond the round itself.  Server: O(k N p) to compare a round's updates with all
    others, O(N^3) for Ward's linkage of the rows (`condensed`: O(N^2)) before each choice.
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
    _order: Ids | None = PrivateAttr(default=None)

    @override
    def select(
        self, view: View, reports: tuple[Reports, ...], k: int, rng: np.random.Generator
    ) -> Ids:
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
        known = np.array(sorted(self._updates), dtype=np.int64)
        table = np.stack([self._updates[client] for client in known.tolist()])
        metric = METRICS[self.similarity]
        rows = np.repeat(distances(vectors, 0 * vectors[:1], metric), len(self._distances), axis=1)
        rows[:, known] = distances(vectors, table, metric)
        rows[np.arange(len(changed)), changed] = 0.0
        matrix = self._distances.copy()
        matrix[changed] = rows
        matrix[:, changed] = rows.T
        self._distances = matrix

    def _prepare(self, n: int, rng: np.random.Generator) -> None:
        """Make room for `n` clients; those not there before have zero updates."""
        if self._distances is None or self._order is None:
            self._distances, self._order = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        known = len(self._order)
        if known == n:
            return
        self._order = np.append(self._order, known + rng.permutation(n - known))
        # The distances, a changed copy of them, those of who is there, and the linkage's own.
        require_memory(4 * 8 * n**2, f"selector 'clustered' with {n:,} clients")
        matrix = np.zeros((n, n))
        matrix[:known, :known] = self._distances
        if self._updates:
            clients = np.array(sorted(self._updates), dtype=np.int64)
            table = np.stack([self._updates[client] for client in clients.tolist()])
            lengths = distances(table, 0 * table[:1], METRICS[self.similarity])
            matrix[clients, known:] = lengths
            matrix[known:, clients] = lengths.T
        self._distances = matrix

    def _linkage(self, ids: Ids) -> Floats:
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import pdist, squareform

        assert self._distances is not None
        block = self._distances[np.ix_(ids, ids)]
        rows = self.linkage_input == "rows"
        merges: Floats = linkage(pdist(block) if rows else squareform(block, checks=False), "ward")
        return merges
