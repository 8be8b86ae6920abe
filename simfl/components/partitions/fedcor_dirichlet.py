"""FedCor's Dirichlet partition: label mixtures first, then the sizes that fit the data set.

Tang et al., "FedCor: Correlation-Based Active Client Selection Strategy for Heterogeneous Federated
Learning", arXiv:2103.13822, equations 146-149 (docs/algorithms.md, D.2).
"""

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
from simfl.core.types import Floats, Ids, Rng

DRAWS = 20
"""Mixtures drawn before settling for one that uses the data only nearly."""
SLACK = 1e-3
"""Then sizes count this much of their squares beside the squared errors of the equations."""


@partitions.register("fedcor_dirichlet")
class FedcorDirichlet(Partition):
    """Each client's label mixture is drawn from Dir(alpha * prior); sizes then use every sample.

    The sizes are the most even ones (least sum of squares) that need exactly the samples that there
    are of each class.  Fractions of samples left over go to random clients, one by one: where they
    have but a few each, a client may get none.
    O(n log n + classes^2 * clients).
    """

    alpha: float = Field(
        0.2,
        gt=0,
        le=LARGEST,
        description="concentration, times each class's share of the data (10 equal classes and "
        "0.2: 0.02 per class); FedCor: 0.2",
    )

    @override
    def check(self, samples: int, classes: int, clients: int) -> None:
        require_enough(self.name, samples, clients)

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        self.check(len(source.labels), source.classes, clients)
        members = rows_of_classes(source.labels, source.classes)
        available = np.array([len(rows) for rows in members], dtype=np.int64)
        present = np.flatnonzero(available)
        demand = available[present].astype(float)
        sizes = None
        for _ in range(DRAWS):
            mixtures = rng.dirichlet(self.alpha * demand / demand.sum(), size=clients).T
            if (sizes := even_sizes(mixtures, demand)) is not None:
                break
        if sizes is None:
            sizes = _bounded(mixtures, demand, np.zeros(len(demand)), SLACK)
        whole = np.floor(mixtures * sizes + 1e-9).astype(np.int64)  # (present classes, clients)
        rows, owners = [], []
        for label, amounts in zip(present, whole, strict=True):
            if amounts.sum() > available[label]:  # of mixtures that fit nearly: all get less
                amounts = apportion(available[label], amounts)
            own = np.repeat(np.arange(clients), amounts)
            left = rng.integers(clients, size=available[label] - len(own))
            rows.append(rng.permutation(members[label]))
            owners.append(np.concatenate([own, left]))
        return by_owner(np.concatenate(rows), np.concatenate(owners), clients, rng)


def even_sizes(mixtures: Floats, demand: Floats) -> Floats | None:
    """Return the sizes x that minimise x.x where ``mixtures @ x = demand`` and x >= 1.

    Usually the least-norm solution of the equations obeys the bound already.  Otherwise the
    solution is ``x = max(1, mixtures.T @ y)``, where y, one number per class, makes the equations
    hold: the maximum of the concave dual, found by Newton's method.

    Args:
        mixtures: `(classes, clients)`: columns sum to one.
        demand: `(classes,)` samples of each class.

    Returns:
        `(clients,)`, or None if no sizes satisfy the equations and the bound.
    """
    y = np.asarray(np.linalg.lstsq(mixtures @ mixtures.T, demand)[0], dtype=np.float64)
    sizes = mixtures.T @ y
    if sizes.min() < 1:
        sizes = _bounded(mixtures, demand, y)
    wrong = np.abs(mixtures @ sizes - demand).max() > 1e-6 * demand.max()
    return None if wrong else sizes


def _bounded(mixtures: Floats, demand: Floats, y: Floats, slack: float = 0.0) -> Floats:
    """Return `(clients,)` sizes that fit, from a first `y` on; with `slack` that nearly do."""

    def dual(point: Floats) -> float:  # to be minimised; its gradient is the equations' error
        t = mixtures.T @ point
        free = np.where(t > 1, (t**2 + 1) / 2, t).sum()
        return float(free + slack / 2 * point @ point - demand @ point)

    for _ in range(100):
        sizes = np.maximum(1.0, mixtures.T @ y)
        error = mixtures @ sizes + slack * y - demand
        if np.abs(error).max() <= 1e-9 * demand.max():
            break
        step = _newton_step(mixtures[:, mixtures.T @ y > 1], error, slack)
        length, before, slope = 1.0, dual(y), float(error @ step)
        while dual(y - length * step) > before - 1e-4 * length * slope and length > 1e-12:
            length /= 2
        y = y - length * step
    return np.maximum(1.0, mixtures.T @ y)


def _newton_step(free: Floats, error: Floats, slack: float) -> Floats:
    curvature = free @ free.T
    damping = slack + 1e-10 * max(float(np.trace(curvature)), 1e-6)
    damped = curvature + damping * np.eye(len(error))
    return np.asarray(np.linalg.solve(damped, error), dtype=np.float64)
