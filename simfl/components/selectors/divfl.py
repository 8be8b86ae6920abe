"""DivFL: a cohort whose gradients stand for everybody's, by submodular facility location.

Balakrishnan et al., "Diverse Client Selection for Federated Learning via Submodular Maximization",
ICLR 2022, Algorithm 1; docs/algorithms.md, A.14.
"""

import heapq
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.selectors.base import (
    Answers,
    Probe,
    Report,
    RoundOutcome,
    Selector,
    View,
    selectors,
)
from simfl.components.selectors.mathematics.vectors import Vectors, distances, present, stored
from simfl.core.component import decided_by_options
from simfl.core.machine.memory import require_memory
from simfl.core.types import Floats, Ids, Rng

Distances = NDArray[np.floating[Any]]
"""Kept in single precision, as the vectors are; sums of them are float64."""
_FARTHEST = float(np.finfo(np.float32).max)
_ROWS, _COLUMNS = 128, 1024
"""Clients whose distances from how many others are measured at once."""
_SUMMED = 16
"""Clients whose distances are summed at once."""


def cover(distance: Distances, k: int, candidates: Ids, counted: Ids | None = None) -> list[int]:
    """Return `k` candidates, greedily minimising the sum of clients' distances to the nearest.

    Lazy greedy (Minoux, 1978): what a candidate could still gain only shrinks, so most need not be
    looked at again.  O(n^2) for the first one, then about O(n) for each look.

    Args:
        distance: `(n, n)` symmetric distances between clients.
        k: how many, at most the number of candidates.
        candidates: `(c,)` positions that may be chosen, ascending; ties go to the first.
        counted: `(m,)` positions of those whose distances are summed; None: of all.
    """
    far = float(distance.max(initial=0.0))
    counted = np.arange(len(distance)) if counted is None else counted
    nearest = np.zeros(len(distance))
    nearest[counted] = far
    gains = len(counted) * far - _sums(distance, candidates, counted)
    heap = [(-gain, int(i), 0) for gain, i in zip(gains.tolist(), candidates, strict=True)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while len(chosen) < k:
        _, i, as_of = heapq.heappop(heap)
        if as_of == len(chosen):
            chosen.append(i)
            nearest = np.minimum(nearest, distance[i])
        else:
            gain = float(np.maximum(nearest - distance[i], 0.0).sum())
            heapq.heappush(heap, (-gain, i, len(chosen)))
    return chosen


def _sums(distance: Distances, rows: Ids, columns: Ids) -> Floats:
    """Return `(r,)` the sums of rows of `distance` over some columns, a few at a time."""
    chosen = np.isin(np.arange(len(distance)), columns)
    sums = np.empty(len(rows))
    for start in range(0, len(rows), _SUMMED):
        part = slice(start, start + _SUMMED)
        counted = np.where(chosen, distance[rows[part]], 0.0)
        sums[part] = counted.sum(axis=1, dtype=np.float64)
    return sums


@selectors.register("divfl")
class DivFl(Selector):
    """Chooses clients such that everybody's last gradient is close to a chosen one's.

    Clients that are away are stood for as well; at an edge server, or in a tier, its own alone.
    Whoever has no gradient yet is asked for one when available, and chosen only if too few others
    are there.

    Cost: `refresh: participants` (no-overhead variant) a gradient (pass and model up) of everybody
    once, then of the participants; `everybody` of all available clients in each round.  With
    `vectors: update` it is a local training instead, and nothing beyond their updates for
    participants.  Server: O(k N p) per round for new distances, about O(N^2) per choice; 4 bytes
    of memory per pair.
    """

    needs_training: ClassVar[bool] = True

    vectors: Literal["gradient", "update"] = Field(
        "gradient", description="what represents a client: its mean gradient, or its last update"
    )
    refresh: Literal["participants", "everybody"] = Field(
        "participants", description="whose vectors are renewed each round (section 3.3, code)"
    )

    _vectors: Vectors | None = PrivateAttr(default=None)
    _distances: Distances | None = PrivateAttr(default=None)

    @decided_by_options
    def needs_updates(self) -> bool:
        """Whether participants' updates renew their vectors."""
        return self.refresh == "participants" and self.vectors == "update"

    @decided_by_options
    def wants(self) -> tuple[str, ...]:
        """Whether participants' gradients do."""
        gradients = self.refresh == "participants" and self.vectors == "gradient"
        return ("gradient",) if gradients else ()

    @override
    def answers(self, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
        return {self.vectors: devices * (1 if self.refresh == "participants" else rounds)}

    @override
    def probe(self, view: View, reports: Answers, rng: Rng) -> Probe | None:
        ids = view.available
        if self.refresh == "participants":
            ids = ids[~present(self._vectors, view.clients)[ids]]
        if reports or not len(ids):
            return None
        if len(view.available) > view.k:  # before the gradients of a large fleet are computed
            self._require_memory(view.clients)
        return Probe(self.vectors, ids)

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        for report in reports:
            self._learn(view.clients, report.clients, report.values)
        ids = view.available
        if len(ids) <= k:
            return ids
        everybody = present(self._vectors, view.clients)
        known, others = ids[everybody[ids]], ids[~everybody[ids]]
        if len(known) <= k:
            extra = rng.choice(others, size=k - len(known), replace=False)
            return np.sort(np.concatenate([known, extra]))
        of_here = view.members[everybody[view.members]]
        chosen = cover(self._matrix(view.clients), k, known, of_here)
        return np.sort(np.array(chosen))

    @override
    def observe(self, outcome: RoundOutcome) -> None:
        vectors = outcome.updates if self.needs_updates else outcome.extras.get("gradient")
        if self.refresh == "participants" and vectors is not None and len(outcome.arrived):
            n = max(
                int(outcome.arrived.max()) + 1, 0 if self._vectors is None else len(self._vectors)
            )
            self._learn(n, outcome.arrived, vectors)

    def _learn(self, n: int, clients: Ids, values: Any) -> None:
        """Renew the vectors of `clients` and their distances to everybody."""
        if not len(clients):
            return
        self._vectors = stored(self._vectors, n, clients, values)
        if self._distances is not None:
            self._measure(self._matrix(n), clients)

    def _matrix(self, n: int) -> Distances:
        """Return the distances `(n, n)`, 0 where unknown; changed whenever vectors are renewed."""
        if self._distances is None or len(self._distances) < n:
            self._require_memory(n)
            self._distances = np.zeros((n, n), dtype=np.float32)
            self._measure(self._distances, np.arange(n))
        return self._distances

    def _require_memory(self, n: int) -> None:
        """Refuse distances `(n, n)` for which there is no room, as far as they are not there."""
        if self._distances is None or len(self._distances) < n:
            cure = "take fewer clients, or `k_dpp`, which stores no distances of pairs"
            require_memory(4 * n**2, f"selector 'divfl' with {n:,} clients", cure)

    def _measure(self, matrix: Distances, clients: Ids) -> None:
        """Renew the distances of `clients` to everybody."""
        assert self._vectors is not None
        known = np.flatnonzero(present(self._vectors, len(matrix)))
        changed = np.intersect1d(clients, known)
        left = np.concatenate([changed, np.setdiff1d(known, changed)])
        # A block at a time, each pair once: what they need stays in the processor's cache.
        for start in range(0, len(changed), _ROWS):
            rows = changed[start : start + _ROWS]
            for first in range(start, len(left), _COLUMNS):
                columns = left[first : first + _COLUMNS]
                exact = distances(self._vectors[rows], self._vectors[columns], "L2")
                part = np.minimum(exact, _FARTHEST).astype(np.float32)
                matrix[np.ix_(rows, columns)] = part
                matrix[np.ix_(columns, rows)] = part.T

    @override
    def state_dict(self) -> dict[str, Any]:
        """What follows from the vectors is left out."""
        return {key: value for key, value in super().state_dict().items() if key != "_distances"}

    @override
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._distances = None
