"""The scenario's aggregator, asked; what it returns is checked, and its errors are its own."""

from collections.abc import Sequence

import numpy as np

from simfl.components.aggregators.base import Aggregator, Contribution
from simfl.components.aggregators.weighting import GroupedSum
from simfl.core.blame import blaming
from simfl.core.component import overrides
from simfl.core.ownership import users_own
from simfl.core.readonly import read_only
from simfl.core.returned import check_vector, check_weights, expect
from simfl.core.seeds import Seeds
from simfl.core.types import Corrections, Floats, Params
from simfl.core.work import WorkOrder
from simfl.sim.coordinator import Arrival
from simfl.training.executors.sums import Sum


class GuardedAggregator:
    """Asks an aggregator, which may be a user's own.

    Args:
        aggregator: fresh.
        seeds: the run's root of randomness.

    Attributes:
        aggregator: the one in force; forks of runs change it.
    """

    def __init__(self, aggregator: Aggregator, seeds: Seeds) -> None:
        self.aggregator = aggregator
        self._seeds = seeds

    def next_model(
        self, model: Params, contributions: Sequence[Contribution], summed: Sum | None, round_: int
    ) -> Params:
        """Return `(p,)` what comes of the present model.

        Args:
            model: `(p,)`, which contributions are to change.
            contributions: of the round.
            summed: their sum, if there is one.
            round_: which.
        """
        with (
            blaming(self.aggregator, f"aggregating in round {round_}"),
            np.errstate(over="ignore", invalid="ignore"),  # of training that diverges
        ):
            if summed is None:
                made = self.aggregator.aggregate(read_only(model), contributions)
            else:
                total = model if summed.total is None else summed.total
                made = total.astype(np.float32, copy=False)
            check_vector(made, model)
            if overrides(self.aggregator, Aggregator.perturb):
                rng = self._seeds.stream("aggregation", round_)
                made = check_vector(self.aggregator.perturb(read_only(made), rng), model)
        if users_own([self.aggregator]):  # who may go on to change what it has returned
            return made.copy()
        return np.require(made, requirements="W")  # it may be the one that was only to be read

    def mean(self, models: Sequence[Params], samples: Sequence[int], round_: int) -> Params:
        """Return `(p,)` the mean of `models` of edges, whose clients hold so many samples.

        Weights are those of the aggregator, which `is_mean`, as if each was a client's.
        """
        with (
            blaming(self.aggregator, f"averaging edges in round {round_}"),
            np.errstate(over="ignore", invalid="ignore"),  # of training that diverges
        ):
            given, total = self.aggregator.weigh(samples, [1] * len(models)), GroupedSum()
            weights = check_weights(given, len(models))
            for weight, model in zip(weights, models, strict=True):
                total.add(weight, model)
            mean = total.value()
            assert mean is not None
            return mean.astype(np.float32)

    def weights(self, arrivals: Sequence[Arrival], samples: Sequence[int]) -> Floats | None:
        """Return `(r,)` by what models are multiplied before they are added up, if that is all.

        Args:
            arrivals: of the models.
            samples: that the client of each holds.
        """
        with blaming(self.aggregator, "weighing updates"):
            weights = self.aggregator.weigh(samples, [arrival.copies for arrival in arrivals])
            if weights is not None:
                check_weights(weights, len(samples))
        return weights

    def corrections(self, orders: Sequence[WorkOrder], model: Params) -> Corrections | None:
        """Return what `orders` are to add to every gradient, if anything: `(p,)` as `model` each.

        Work for a probe, whose bytes are those of a model, has no corrections.
        """
        if not self.aggregator.corrects or any(order.for_probe for order in orders):
            return None
        with blaming(self.aggregator, "correcting gradients"):
            corrections = {order.key: self.aggregator.correction(order.client) for order in orders}
            given = {key: vector for key, vector in corrections.items() if vector is not None}
            some = 0 < len(given) < len(corrections)
            expect(not some, "a correction for everybody, or nobody", f"{len(given)} corrections")
            for vector in given.values():
                check_vector(vector, model)
        return given or None
