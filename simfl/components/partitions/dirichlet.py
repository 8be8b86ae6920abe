"""Label skew by a Dirichlet distribution per class.

Yurochkin et al., "Bayesian Nonparametric Federated Learning of Neural Networks", 2019, section 4;
Hsu, Qi & Brown, arXiv:1909.06335.
"""

import heapq

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.partitions.base import Partition, Source, partitions
from simfl.components.partitions.dealing import (
    LARGEST,
    by_owner,
    require_enough,
    rows_of_classes,
)
from simfl.core.apportion import apportion
from simfl.core.types import Ids, Rng


@partitions.register("dirichlet")
class Dirichlet(Partition):
    """Each class is divided among the clients in shares drawn from Dir(alpha, ..., alpha).

    Every sample is dealt.  A client left with fewer than `min_samples` gets random ones of the
    largest clients, so that any fleet can be dealt to without drawing again and again.
    O(n log n + classes * clients).
    """

    alpha: float = Field(
        0.5,
        gt=0,
        le=LARGEST,
        description="concentration: small means few labels per client, large means iid",
    )
    min_samples: int = Field(10, ge=0, description="least samples of every client")

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_enough(self.name, samples, clients, self.min_samples)

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        self.check(len(source.labels), source.classes, clients)
        rows, owners = [], []
        for members in rows_of_classes(source.labels, source.classes):
            share = rng.dirichlet(np.full(clients, self.alpha))
            rows.append(rng.permutation(members))
            # Cumulated shares rounded down would give the last client some of every class.
            owners.append(np.repeat(np.arange(clients), apportion(len(members), share)))
        dealt = by_owner(np.concatenate(rows), np.concatenate(owners), clients, rng)
        return self._topped_up(dealt, rng)

    def _topped_up(self, dealt: list[Ids], rng: Rng) -> list[Ids]:
        missing = [max(self.min_samples - len(rows), 0) for rows in dealt]
        richest = [(-len(rows), client) for client, rows in enumerate(dealt)]
        heapq.heapify(richest)
        given = [0] * len(dealt)
        gifts: list[list[np.int64]] = [[] for _ in dealt]
        for client, short in enumerate(missing):
            for _ in range(short):
                size, donor = heapq.heappop(richest)
                given[donor] += 1
                gifts[client].append(dealt[donor][-given[donor]])
                heapq.heappush(richest, (size + 1, donor))
        kept = [rows[: len(rows) - out] for rows, out in zip(dealt, given, strict=True)]
        # Mixed, or what is cut off at the end, such as a validation part, would be gifts alone.
        return [
            rng.permutation(np.append(rows, np.array(extra))) if extra else rows
            for rows, extra in zip(kept, gifts, strict=True)
        ]
