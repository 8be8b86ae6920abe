"""Orders computed by the executor: each for itself, or all of them added up."""

from collections.abc import Sequence

from simfl.coordinators.guarded_aggregator import GuardedAggregator
from simfl.coordinators.model_versions import ModelVersions
from simfl.coordinators.personal import PersonalParameters
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.core.types import Floats
from simfl.core.work import OrderBatch, WorkOrder, WorkResult
from simfl.sim.coordinator import Arrival
from simfl.training.executors.base import Executor
from simfl.training.executors.sums import Sum


class Computing:
    """Has orders computed, from the versions of the model that they start from.

    Args:
        executor: already started.
        versions: of the model.
        guarded: the aggregator, which may correct gradients and weigh models.
        personal: what of the model clients keep to themselves (None: nothing).
    """

    def __init__(
        self,
        executor: Executor,
        versions: ModelVersions,
        guarded: GuardedAggregator,
        personal: PersonalParameters | None = None,
    ) -> None:
        self._executor, self._versions, self._guarded = executor, versions, guarded
        self._personal = personal

    def execute(self, orders: Sequence[WorkOrder]) -> Sequence[WorkResult]:
        """Return the results of `orders`, in their order."""
        if not orders:
            return []
        batch = self._batch(orders)
        if self._personal is None:
            return self._train(batch)
        return self._personal.train(self._train, batch, self._executor.side_by_side)

    def adds_up(self, arrivals: Sequence[Arrival]) -> bool:
        """Return whether the next model is a weighted sum, and better had as one than singly."""
        if self._personal is not None:  # of each model a part is kept
            return False
        worth = self._executor.worth_adding_up(len(arrivals), self._versions.model.nbytes)
        return worth and self._weights(arrivals) is not None

    def add_up(self, arrivals: Sequence[Arrival]) -> Sum:
        """Train what arrived, in canonical order, and add it up, each model by its weight."""
        by_key = {arrival.order.key: arrival for arrival in arrivals}

        def weigh(orders: Sequence[WorkOrder]) -> Floats:
            weights = self._weights([by_key[order.key] for order in orders])
            assert weights is not None
            return weights

        return self._executor.add_up(self._batch([a.order for a in arrivals]), weigh)

    def _train(self, batch: OrderBatch) -> Sequence[WorkResult]:
        with blaming(self._executor, f"training in round {batch.orders[0].round}"):
            results = self._executor.train(batch)
            trained = [result.order.key for result in results]
            expect(trained == [order.key for order in batch.orders], "the orders' results", trained)
        return results

    def _weights(self, arrivals: Sequence[Arrival]) -> Floats | None:
        """Return `(r,)` by what models are multiplied before they are added up, if that is all."""
        sizes = self._executor.task.data.sizes
        samples = [int(sizes[arrival.order.client]) for arrival in arrivals]
        return self._guarded.weights(arrivals, samples)

    def _batch(self, orders: Sequence[WorkOrder]) -> OrderBatch:
        corrections = self._guarded.corrections(orders, self._versions.model)
        return OrderBatch(self._versions.bases(orders), orders, corrections)
