"""A coordinator that trains nothing: the virtual clock alone, for ``--time-only`` runs."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from simfl.components.selectors.base import Probe, Reports, View
from simfl.coordinators.base import BaseCoordinator, Choosing
from simfl.core.evaluation import Evaluation
from simfl.sim.coordinator import Aggregated, EdgeModel, RoundUpdates


class TimeOnlyCoordinator(BaseCoordinator):
    """Answers the server without a tensor: unknown losses, no evaluation."""

    def __init__(self, choosing: Choosing) -> None:
        super().__init__(lambda orders: [], choosing)

    @override
    def answer(self, probe: Probe, took_s: Mapping[int, float], view: View) -> Reports:
        """What was asked stays unknown, how long it took does not."""
        return Reports.unknown(probe, took_s)

    @override
    def aggregate(self, updates: RoundUpdates) -> Aggregated:
        orders = updates.orders
        self.ledger.count_computed(orders)
        return Aggregated(gemd=self.gemd([order.client for order in orders]))

    @override
    def aggregate_at_edge(self, updates: RoundUpdates, base: int, made: int) -> Aggregated:
        return self.aggregate(updates)

    @override
    def merge(self, round_: int, edges: Sequence[EdgeModel], clients: Sequence[int]) -> Aggregated:
        return Aggregated(gemd=self.gemd(clients))

    @override
    def evaluate(self, round_: int) -> Evaluation | None:
        return None
