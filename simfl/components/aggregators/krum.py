"""Krum and Multi-Krum (Blanchard et al., 2017, arXiv:1703.02757, sections 4 and 6)."""

from collections.abc import Iterator, Sequence

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.weighting import Terms, block_of, blocks, sum_of, terms_of
from simfl.core.circumstances import Circumstances
from simfl.core.machine.memory import require_memory
from simfl.core.types import Floats, Params


@aggregators.register("krum")
class Krum(Aggregator):
    """The model that is nearest to its neighbours; with `keep`, the mean of several (Multi-Krum).

    The score of one of r models is ``sum ||w_i - w_j||^2`` over its ``r - byzantine - 2`` nearest
    others; those with the lowest are kept, of equal ones those of the lowest ids.  All clients are
    alike, and one drawn twice counts twice.  Withstands `byzantine` wrong clients among more than
    ``2 byzantine + 2``.  Where fewer arrive in a round it does not; it then looks at one neighbour
    at least.  Where some models are stale, updates are compared, and what is kept of them is added
    to the present model.  Cost: O(r^2 * p), memory O(p + r^2).
    """

    byzantine: int = Field(1, ge=0, description="f: clients that may be wrong in a round")
    keep: int = Field(1, ge=1, description="m: models that are kept (1: Krum)")

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.may_be_stale:  # then it is not known how many updates come together
            return
        clients, needed = circumstances.clients, 2 * self.byzantine + 3
        if clients < needed:
            yield (
                f"aggregator {self.name!r} needs at least {needed} clients per round to withstand "
                f"{self.byzantine} (2 byzantine + 3), but `rounds.clients` is {clients}"
            )
        elif self.keep > clients - self.byzantine:
            yield (
                f"aggregator {self.name!r} can't keep {self.keep} of {clients} models where "
                f"{self.byzantine} may be wrong; `keep` at most {clients - self.byzantine}"
            )

    @override
    def withstands(self, clients: int | None) -> tuple[str, float] | None:
        return None if clients is None else ("byzantine", self.byzantine / clients)

    @override
    def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
        """Return the mean of those kept.

        Raises:
            InputError: the distances don't fit into memory.
        """
        of = terms_of(contributions)
        owners = [i for i, c in enumerate(contributions) for _ in range(c.copies)]
        scores = self._scores(_squared_distances([contributions[i] for i in owners], of))
        keys = [contributions[i].result.order.key for i in owners]
        ranked = sorted(range(len(owners)), key=lambda n: (scores[n], keys[n]))[: self.keep]
        kept = np.bincount([owners[n] for n in ranked], minlength=len(contributions))
        shares = kept / len(ranked)
        mean = sum_of(contributions, shares, of)
        return (model + mean if of == "updates" else mean).astype(np.float32)

    def _scores(self, distances: Floats) -> Floats:
        """Return `(r,)` the scores, of `(r, r)` squared distances."""
        nearest = max(len(distances) - self.byzantine - 2, 1)
        return np.asarray(np.sort(distances, axis=1)[:, 1 : 1 + nearest].sum(axis=1))


def _squared_distances(models: Sequence[Contribution], of: Terms) -> Floats:
    """Return `(r, r)` squared Euclidean distances, exactly symmetric."""
    r = len(models)
    require_memory(3 * 8 * r**2, f"aggregator 'krum' with {r:,} updates")
    above = np.zeros((r, r))
    for columns in blocks(len(models[0].base), rows=r):
        rows = np.stack([block_of(c, columns, of) for c in models])
        for i in range(r - 1):
            above[i, i + 1 :] += ((rows[i + 1 :] - rows[i]) ** 2).sum(axis=1)
    return above + above.T
