"""A small learning task of random data: what contracts of models and executors compute."""

from collections.abc import Sequence

import numpy as np
import torch

from simfl.components.coresets.base import Coreset
from simfl.components.datasets.clients import Samples
from simfl.components.local_training import LocalTraining
from simfl.components.models.base import Model
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.core.types import Ids
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.training.data import Partitioned
from simfl.training.flat import build
from simfl.training.task import Task
from simfl.training.tokens import takes_tokens

TRAINING = LocalTraining(8, Sgd(lr=0.05, momentum=0.5), Exponential(decay=0.9), proximal=0.1)
_PLANS = (
    Plan(full_epochs=2),
    Plan(full_epochs=1, coreset_epochs=2, coreset_size=6),
    Plan(coreset_epochs=2, coreset_size=3),
    Plan(steps=5),
    Plan(full_epochs=3, stop_after=4),
)


def random_inputs(model: Model, shape: tuple[int, ...], classes: int, n: int) -> torch.Tensor:
    """Return `(n, *shape)` random numbers or, if the model takes those, tokens."""
    rng = np.random.default_rng(0)
    if takes_tokens(build(model, shape, classes), shape):
        return torch.from_numpy(rng.integers(0, classes, (n, *shape)))
    return torch.from_numpy(rng.standard_normal((n, *shape)).astype(np.float32))


def random_task(
    model: Model,
    shape: tuple[int, ...],
    classes: int,
    sizes: Sequence[int],
    coreset: Coreset | None = None,
) -> Task:
    """Return a task of random samples, `sizes` of which the clients hold."""
    x, rng = random_inputs(model, shape, classes, sum(sizes)), np.random.default_rng(1)
    y = rng.integers(0, classes, len(x))
    rows: list[Ids] = np.split(np.arange(len(x)), np.cumsum(sizes)[:-1])
    none = np.zeros(0, dtype=np.int64)
    data = Partitioned(Samples(x.numpy(), y), rows, [none] * len(sizes))
    return Task(model, shape, classes, data, TRAINING, coreset, wants=("gradient",))


def orders(clients: int, plans: Sequence[Plan] = _PLANS) -> list[WorkOrder]:
    """Return an order for each client, the plans in turn."""
    return [
        WorkOrder(client, 0, 1 + client % 3, 0, plans[client % len(plans)], 987_654_321 + client)
        for client in range(clients)
    ]


def equal(results: Sequence[WorkResult], others: Sequence[WorkResult]) -> None:
    """Assert that results are equal, bit for bit."""
    assert [result.order for result in results] == [other.order for other in others], "other orders"
    for result, other in zip(results, others, strict=True):
        client = result.order.client
        assert result.params.tobytes() == other.params.tobytes(), f"client {client}: other bits"
        assert np.array([result.loss]).tobytes() == np.array([other.loss]).tobytes(), client
        assert (result.steps, result.samples, result.lr_sum) == (
            other.steps,
            other.samples,
            other.lr_sum,
        )
        assert result.extras.keys() == other.extras.keys()
        for name, value in result.extras.items():
            assert value.tobytes() == other.extras[name].tobytes(), (client, name)
