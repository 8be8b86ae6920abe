"""Clustered sampling's urns: groups of clients, each urn yielding one client per round.

Fraboni et al., "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021, Algorithm 2; docs/algorithms.md, A.8.

All masses are whole numbers: client k weighs ``m n_k`` and an urn holds the sum of all n, so that
no rounding can spoil the unbiasedness.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

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


class Urn(NamedTuple):
    """What is in an urn.

    Attributes:
        clients: `(c,)` their positions, ascending.
        masses: `(c,)` what each weighs there, positive.
    """

    clients: Ids
    masses: Ids


def fill(samples: Ids, m: int, merges: Merges, rng: Rng) -> list[Urn]:
    """Return m urns, each as heavy as all samples together.

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
    whole, mass = np.divmod(m * samples, capacity)
    owners = np.repeat(np.arange(len(samples)), whole).tolist()
    clusters = [c for c in cut(merges, mass, capacity) if mass[c].any()]
    weight = [int(mass[c].sum()) for c in clusters]
    left_open = m - len(owners)
    heaviest = heapq.nsmallest(left_open, range(len(clusters)), key=lambda c: (-weight[c], c))
    own = sorted(heaviest, key=lambda c: (weight[c], c))
    urns = [dict(zip(clusters[c].tolist(), mass[clusters[c]].tolist(), strict=True)) for c in own]
    room = [capacity - weight[c] for c in own]
    rest = sorted(set(range(len(clusters))) - set(heaviest), key=lambda c: (weight[c], c))
    urn = 0
    for client in (int(client) for c in rest for client in rng.permutation(clusters[c])):
        left = int(mass[client])
        while left:
            if not room[urn]:
                urn += 1
                continue
            part = min(left, room[urn])
            urns[urn][client] = part
            room[urn] -= part
            left -= part
    return [_urn({client: capacity}) for client in owners] + [_urn(masses) for masses in urns]


def _urn(masses: Mapping[int, int]) -> Urn:
    clients = np.array(sorted(client for client in masses if masses[client]), dtype=np.int64)
    return Urn(clients, np.array([masses[client] for client in clients.tolist()], dtype=np.int64))


def draw(urns: Sequence[Urn], rng: Rng) -> Ids:
    """Return `(k,)` a client's position from each of k urns, in proportion to the masses."""
    sums = [np.cumsum(urn.masses) for urn in urns]
    numbers = rng.integers(0, [each[-1] for each in sums])
    places = [np.searchsorted(each, x, side="right") for each, x in zip(sums, numbers, strict=True)]
    return np.array(
        [urn.clients[place] for urn, place in zip(urns, places, strict=True)], dtype=np.int64
    )
