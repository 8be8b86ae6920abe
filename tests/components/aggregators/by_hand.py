"""What aggregators are given by hand in tests, and what they make of it."""

import numpy as np

from simfl.components.aggregators.base import Contribution, aggregators
from simfl.core.work import Plan, WorkOrder, WorkResult


def contribution(
    params: object,
    samples: int = 1,
    client: int = 0,
    *,
    base: float = 0.0,
    steps: int = 1,
    staleness: int = 0,
    copies: int = 1,
) -> Contribution:
    model = np.atleast_1d(np.array(params, dtype=np.float32))
    result = WorkResult(WorkOrder(client, 0, 1, 0, Plan(1), 0), model, 0.0, steps, samples)
    return Contribution(result, np.full_like(model, base), staleness, copies)


def aggregate(name: object, contributions: list[Contribution], model: float = 0.0) -> np.ndarray:
    aggregator = aggregators.parse(name)
    return aggregator.aggregate(np.full_like(contributions[0].base, model), contributions)
