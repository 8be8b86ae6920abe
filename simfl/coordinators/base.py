"""What every coordinator is made of: the ledger, the selector and its random streams."""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.selectors.base import Probe, Report, Reports, Selector, View
from simfl.coordinators.ledger import Execute, Ledger
from simfl.core.blame import blaming
from simfl.core.component import overrides
from simfl.core.labels import gemd
from simfl.core.ownership import names
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.work import WorkOrder
from simfl.errors import RunError
from simfl.sim.coordinator import Aggregated, Coordinator, EdgeModel, RoundUpdates

MODEL, PERSONAL = "model.pt", "personal.pt"


@dataclass(frozen=True)
class Choosing:
    """Who chooses, by which random numbers, and how a choice is judged.

    Attributes:
        selector: fresh.
        seeds: the run's root of randomness.
        label_counts: `(n, classes)` for the GEMD of each round, or None.
    """

    selector: Selector
    seeds: Seeds
    label_counts: NDArray[np.int64] | None = None


class BaseCoordinator(Coordinator):
    """The part of the door that needs no tensors.

    Args:
        execute: computes what the ledger collects.
        choosing: who chooses.
    """

    def __init__(self, execute: Execute, choosing: Choosing) -> None:
        self.ledger = Ledger(execute)
        self._selector = choosing.selector
        self._seeds = choosing.seeds
        self._label_counts = counts = choosing.label_counts
        # Added up once: a large fleet's takes a while.
        self._everybody = None if counts is None else counts.sum(axis=0)

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
        self.ledger.count_computed(orders)

    def replay_early(self, order: WorkOrder) -> None:
        """Count `order` as computed for a client's update filter, before the interruption."""
        self.ledger.count_computed([order])

    @override
    def keeps(self, order: WorkOrder) -> bool:
        """Filters need updates: without training there are none."""
        return True

    @override
    def next_probe(self, view: View, reports: tuple[Reports, ...]) -> Probe | None:
        if not overrides(self._selector, Selector.probe):
            return None  # as most do, without streams of random numbers for nothing
        rng = self._seeds.stream("probe", *moment(view), len(reports))
        with blaming(self._selector, f"asking clients in round {view.round}"):
            probe = self._selector.probe(view, reports, rng)
            if probe is not None:
                expect(isinstance(probe, Probe), "a Probe or None", probe)
                expect(probe.report in get_args(Report), f"one of {get_args(Report)}", probe.report)
                asked = _check_clients(probe.clients, view.clients)
                expect(len(set(asked)) == len(asked), "distinct clients", asked)
            return probe

    @override
    def aggregate_at_edge(self, updates: RoundUpdates, base: int, made: int) -> Aggregated:
        raise RunError("it aggregates at no edges")

    @override
    def merge(self, round_: int, edges: Sequence[EdgeModel], clients: Sequence[int]) -> Aggregated:
        raise RunError("it has no models of edges")

    @property
    @override
    def chooser(self) -> str:
        return names([self._selector])

    @override
    def select(self, view: View, reports: tuple[Reports, ...], k: int) -> list[int]:
        rng = self._seeds.stream("selection", *moment(view))
        with blaming(self._selector, f"choosing clients in round {view.round}"):
            chosen = _check_clients(self._selector.select(view, reports, k, rng), view.clients)
            expect(len(chosen) <= k, f"up to {k} clients", chosen)
            return chosen

    def adopt(self, rules: Self, same: Container[str]) -> None:
        """Go on by the rules of another coordinator, with what was learnt so far.

        Args:
            rules: fresh.
            same: which parts of the rules (`selection`, `aggregation`, `compression`, `filter` and
                others) are as before: these keep what they remember.
        """
        if "selection" not in same:
            self._selector = rules._selector

    def artifacts(self) -> dict[str, bytes]:
        """Return files for the run's folder, by name, once the run has ended."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a checkpoint must keep (nothing: replay alone will do)."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    def gemd(self, clients: Sequence[int]) -> float | None:
        """Return the GEMD of `clients`, each of whom counts once however often it is there.

        None: labels are not known, or there are none.
        """
        if self._label_counts is None or self._everybody is None or not clients:
            return None
        distance = float(gemd(self._label_counts[np.unique(clients)].sum(axis=0), self._everybody))
        return None if math.isnan(distance) else distance


def _check_clients(chosen: object, clients: int) -> list[int]:
    """Return ids as they should be: whole numbers, of clients that there are."""
    array = np.asarray(chosen)
    whole = array.ndim == 1 and (not len(array) or array.dtype.kind in "iu")
    expect(whole, "ids of clients, `(k,)` whole numbers", chosen)
    ids = [int(client) for client in array.tolist()]
    expect(not ids or (min(ids) >= 0 and max(ids) < clients), f"ids below {clients}", chosen)
    return ids


def moment(view: View) -> tuple[int, ...]:
    """Return the address of a selection: its round, and which of the round's if not the first."""
    return (view.round, view.turn) if view.turn else (view.round,)
