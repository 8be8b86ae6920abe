"""k-medoids coresets, as in FedCore (Guo et al., 2024, arXiv:2402.00219, section 4.2).

A coreset's weighted gradient differs from the full one by at most the sum of every sample's
distance to its medoid (Eq. 3-5), which k-medoids makes small.  The solver is FasterPAM (Schubert &
Rousseeuw, 2021, Information Systems 101, algorithm 3) of the `kmedoids` package, on one thread;
beyond `max_rows` rows CLARA (Kaufman & Rousseeuw, 1990, chapter 3).  See docs/algorithms.md, B.3.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.coresets.base import Coreset, Features, coresets
from simfl.core.apportion import apportion_seats
from simfl.core.types import Floats, Ids, Rng

_CLARA_SAMPLES = 5  # as in the book
FEW = 4
"""A medoid for so many rows or more: the solver then spends its time in looking for swaps."""


@coresets.register("k_medoids")
class KMedoids(Coreset):
    """Medoids of the samples' features, each weighted by the size of its cluster.

    Cost: O(n^2 * d) for the distances and O(n^2) a pass, n the rows of a class (or of the client);
    8 * n^2 bytes.
    """

    feature: Literal["last_layer_gradient", "input_gradient", "logit_gradient"] = Field(
        "last_layer_gradient",
        description="what distances compare in a deep model (a convex model always uses its raw "
        "inputs): gradient of the last layer's parameters (FedCore's code), of its "
        "input (FedCore's text), or of the logits",
    )
    per_class: bool = Field(
        True,
        description="cluster each class separately, with the budget shared by largest remainders "
        "(FedCore's code); false: all samples together (FedCore's text), as also if "
        "the budget is less than the number of classes, or targets are not classes",
    )
    max_passes: int = Field(100, ge=1, description="passes of FasterPAM over all samples")
    max_rows: int = Field(
        8000, ge=2, description="rows of the largest distance matrix; CLARA's samples beyond"
    )

    @override
    def uses(self, convex: bool) -> Features:
        return "inputs" if convex else self.feature

    @override
    def choose(self, features: Floats, labels: Ids, size: int, rng: Rng) -> tuple[Ids, Floats]:
        m = len(labels)
        if size >= m:
            return np.arange(m), np.ones(m)
        features = np.ascontiguousarray(features.reshape(m, -1), dtype=np.float64)
        members = np.zeros(m, dtype=np.int64)
        if self.per_class and labels.ndim == 1 and labels.dtype.kind in "iu":
            classes, of_classes = np.unique(labels, return_inverse=True)
            members = of_classes if size >= len(classes) else members
        shares = apportion_seats(size, np.bincount(members))
        rows, weights = [], []
        for k, share in enumerate(shares):
            own = np.flatnonzero(members == k)
            medoids, sizes = self._cluster(features[own], int(share), rng)
            rows.append(own[medoids])
            weights.append(sizes)
        chosen = np.concatenate(rows)
        order = np.argsort(chosen)
        return chosen[order], np.concatenate(weights)[order]

    def _cluster(self, x: Floats, b: int, rng: Rng) -> tuple[Ids, Floats]:
        """Return `b` medoids of the rows of `x`, ascending, and how many rows each stands for."""
        n = len(x)
        if b >= n:
            return np.arange(n), np.ones(n)
        if n <= self.max_rows:
            distances = _distances(x)
            medoids = self._medoids(distances, b, rng)
            return medoids, _cluster_sizes([distances[:, medoids]], medoids)
        medoids = self._among_many(x, b, rng)
        return medoids, _cluster_sizes(_blocks(x, medoids, self.max_rows), medoids)

    def _among_many(self, x: Floats, b: int, rng: Rng) -> Ids:
        """Return `b` medoids of more rows than a distance matrix may have."""
        n = len(x)
        if 2 * b > self.max_rows:  # too many for a sample: solve disjoint random parts instead
            parts = np.array_split(rng.permutation(n), min(-(-n // self.max_rows), b))
            shares = apportion_seats(b, np.array([len(part) for part in parts]))
            medoids_of_parts = [
                part[self._cluster(x[part], int(share), rng)[0]]
                for part, share in zip(parts, shares, strict=True)
            ]
            return np.sort(np.concatenate(medoids_of_parts))
        best, best_cost = np.arange(b), np.inf
        for _ in range(_CLARA_SAMPLES):
            sample = np.sort(rng.choice(n, size=self.max_rows, replace=False))
            medoids = sample[self._medoids(_distances(x[sample]), b, rng)]
            cost = sum(block.min(axis=1).sum() for block in _blocks(x, medoids, self.max_rows))
            if cost < best_cost:
                best, best_cost = medoids, cost
        return best

    def _medoids(self, distances: Floats, b: int, rng: Rng) -> Ids:
        if b == 1:
            return np.array([distances.sum(axis=1).argmin()])
        import kmedoids

        start = rng.choice(len(distances), size=b, replace=False)
        # The solver reads a column where it looks for a swap and a row where it makes one.
        columns = distances.T
        # Without a random state and on one thread the solver makes no random choice of its own.
        matrix = columns if b <= len(distances) // FEW else distances
        clustering = kmedoids.fasterpam(matrix, start, self.max_passes, n_cpu=1)
        # Where distances tie it sometimes stops too early (kmedoids 0.5.5); FastPAM1 begins with an
        # exact look at all swaps, so that if it finds none there is none.
        for _ in range(self.max_passes):
            better = kmedoids.fastpam1(columns, clustering.medoids, self.max_passes)
            if not better.loss < clustering.loss * (1 - 1e-12):
                break
            clustering = better
        return np.sort(clustering.medoids.astype(np.int64))


def _distances(x: Floats) -> Floats:
    """Return `(n, n)` Euclidean distances; symmetric with an exact zero diagonal."""
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(x), checks=False))


def _blocks(x: Floats, medoids: Ids, rows: int) -> Iterator[Floats]:
    """Yield the distances of all rows to the medoids, a bounded block at a time."""
    from scipy.spatial.distance import cdist

    for low in range(0, len(x), rows):
        yield np.asarray(cdist(x[low : low + rows], x[medoids]))


def _cluster_sizes(blocks: Iterable[Floats], medoids: Ids) -> Floats:
    """Return how many rows are nearest to each medoid (ties: lowest); each has itself."""
    nearest = np.concatenate([block.argmin(axis=1) for block in blocks])
    nearest[medoids] = np.arange(len(medoids))  # even if an equal row is a medoid too
    return np.bincount(nearest, minlength=len(medoids)).astype(np.float64)
