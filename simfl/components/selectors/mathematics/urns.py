"""Clustered sampling's urns: groups of clients, each urn yielding one client per round.

Fraboni et al., "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021, Algorithm 2; docs/algorithms.md, A.8.

All masses are whole numbers: client k weighs ``m n_k`` and an urn holds the sum of all n, so that
no rounding can spoil the unbiasedness.
"""

import heapq

import numpy as np
from numpy.typing import NDArray

from simfl.components.selectors.mathematics.ward import Merges
from simfl.core.types import Ids, Rng


def cut(merges: Merges, mass: Ids, capacity: int) -> list[Ids]:
    """Return the largest subtrees of a linkage that fit into one urn.

    Args:
        merges: the linkage's.
        mass: `(n,)` what each leaf weighs.
        capacity: what an urn holds.

    Returns:
        Arrays of positions, each ascending; ordered by their first position.
    """
    members: dict[int, list[int]] = {leaf: [leaf] for leaf in range(len(mass))}
    weight: dict[int, int] = {leaf: int(w) for leaf, w in enumerate(mass)}
    for number, (left, right) in enumerate(merges):
        if left in members and right in members and weight[left] + weight[right] <= capacity:
            node = len(mass) + number
            members[node] = members.pop(left) + members.pop(right)
            weight[node] = weight[left] + weight[right]
    clusters = (np.sort(np.array(leaves)) for leaves in members.values())
    return sorted(clusters, key=lambda cluster: int(cluster[0]))


def fill(samples: Ids, m: int, merges: Merges, rng: Rng) -> NDArray[np.int64]:
    """Return `(m, n)` masses of the clients in each urn; rows sum to the sum of all samples.

    Clients too heavy for one urn get whole urns first; the m heaviest clusters of the rest get one
    urn each; the remaining clusters, lightest first, are poured into the urns one after the other,
    the lightest first (as the authors' code does), so that a client may be split between two.

    Args:
        samples: `(n,)` samples of each client, positive.
        m: number of urns, less than n.
        merges: of the clients' linkage.
        rng: shuffles the clients of a cluster before they are poured.
    """
    capacity = int(samples.sum())
    urns = np.zeros((m, len(samples)), dtype=np.int64)
    whole, mass = np.divmod(m * samples, capacity)
    owners = np.repeat(np.arange(len(samples)), whole)
    urns[np.arange(len(owners)), owners] = capacity
    open_urns = range(len(owners), m)
    clusters = [c for c in cut(merges, mass, capacity) if mass[c].any()]
    weight = [int(mass[c].sum()) for c in clusters]
    heaviest = heapq.nsmallest(len(open_urns), range(len(clusters)), key=lambda c: (-weight[c], c))
    for urn, cluster in zip(open_urns, sorted(heaviest, key=lambda c: (weight[c], c)), strict=True):
        urns[urn, clusters[cluster]] = mass[clusters[cluster]]
    rest = sorted(set(range(len(clusters))) - set(heaviest), key=lambda c: (weight[c], c))
    poured = [int(client) for c in rest for client in rng.permutation(clusters[c])]
    room = [capacity - int(urns[urn].sum()) for urn in open_urns]
    urn = 0
    for client in poured:
        left = int(mass[client])
        while left:
            if not room[urn]:
                urn += 1
                continue
            part = min(left, room[urn])
            urns[open_urns[urn], client] += part
            room[urn] -= part
            left -= part
    return urns


def draw(urns: NDArray[np.int64], rng: Rng) -> Ids:
    """Return `(k,)` a position from each of the `(k, n)` urns, in proportion to the masses."""
    sums = np.cumsum(urns, axis=1)
    numbers = rng.integers(0, sums[:, -1])
    return np.array(
        [np.searchsorted(row, x, side="right") for row, x in zip(sums, numbers, strict=True)],
        dtype=np.int64,
    )
