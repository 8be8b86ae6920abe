"""What every coordinator is made of: the ledger, the selector and its random streams."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.partitions.describe import gemd
from simfl.components.selectors.base import Probe, Reports, Selector, View
from simfl.coordinators.ledger import Execute, Ledger
from simfl.core.seeds import Seeds
from simfl.core.work import WorkOrder
from simfl.sim.coordinator import Coordinator


class BaseCoordinator(Coordinator):
    """The part of the door that needs no tensors.

    Args:
        execute: computes what the ledger collects.
        selector: fresh.
        seeds: the run's root of randomness.
        label_counts: `(n, classes)` for the GEMD of each round, or None.
    """

    def __init__(
        self,
        execute: Execute,
        selector: Selector,
        seeds: Seeds,
        label_counts: NDArray[np.int64] | None = None,
    ) -> None:
        self.ledger = Ledger(execute)
        self._selector = selector
        self._seeds = seeds
        self._label_counts = label_counts
        # Added up once: a large fleet's takes a while.
        self._everybody = None if label_counts is None else label_counts.sum(axis=0)

    @override
    def issue(self, order: WorkOrder) -> WorkOrder:
        return self.ledger.issue(order)

    @override
    def amend(self, order: WorkOrder) -> WorkOrder:
        return self.ledger.amend(order)

    @override
    def drop(self, order: WorkOrder) -> None:
        self.ledger.drop(order)

    def replay(self, orders: Iterable[WorkOrder]) -> None:
        """Count `orders` as computed: they were, before the run was interrupted."""
        self.ledger.replay(orders)

    @override
    def next_probe(self, view: View, reports: tuple[Reports, ...]) -> Probe | None:
        rng = self._seeds.stream("probe", *_moment(view), len(reports))
        return self._selector.probe(view, reports, rng)

    @override
    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        rng = self._seeds.stream("selection", *_moment(view))
        return [int(client) for client in self._selector.select(view, reports, k, rng)]

    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Return what the selector wants to show of its state."""
        return self._selector.diagnostics()

    def gemd(self, clients: Sequence[int]) -> float | None:
        """Return the GEMD of `clients` (None: labels are not known, or there are none)."""
        if self._label_counts is None or self._everybody is None or not clients:
            return None
        distance = float(gemd(self._label_counts[np.array(clients)].sum(axis=0), self._everybody))
        return None if math.isnan(distance) else distance


def _moment(view: View) -> tuple[int, ...]:
    """Return the address of a selection: its round, and which of the round's if not the first."""
    return (view.round, view.turn) if view.turn else (view.round,)
