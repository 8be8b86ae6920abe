"""A model fine-tuned by each client on its own samples: the simplest personalisation.

Wang et al., 2019 (arXiv:1910.10252); Cheng, Chadha & Duchi, 2021 (arXiv:2108.07313).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simfl.core.seeds import Seeds
from simfl.core.types import Params
from simfl.core.work import OrderBatch, Plan, WorkOrder
from simfl.training.executors.base import Executor
from simfl.training.executors.sums import models_at_once

if TYPE_CHECKING:
    from simfl.training.task import Task

MOST_AT_ONCE = 256
"""Clients that are trained together at most; company changes no bit."""


@dataclass(frozen=True)
class FineTuning:
    """How clients fine-tune a model.

    Attributes:
        epochs: passes over the samples that each trains on.
        round: whose learning rate they have, 1-based: the one after a run's last.
        learning_rate: at their beginning.
        left_out: clients that keep no sample aside on which it could be judged.
    """

    epochs: int
    round: int
    learning_rate: float
    left_out: int


def alone(task: "Task") -> "Task":
    """Return `task` for clients that train for themselves.

    As in a round, but nothing pulls them back to the model and nothing is measured besides.
    """
    return replace(task, training=replace(task.training, proximal=0.0), wants=())


def fine_tuned(
    executor: Executor, models: Mapping[int, Params], how: FineTuning, seeds: Seeds
) -> Iterator[tuple[int, Params]]:
    """Yield each client and its own model `(p,)`, some at a time.

    Args:
        executor: started with a task of clients that train `alone`.
        models: `(p,)` that each client begins with.
        how: they do it.
        seeds: the run's root of randomness; a client's is addressed ``("fine_tuning", client)``.
    """
    clients, numbers = list(models), dict[int, int]()
    for model in models.values():  # of the arrays, of which there may be one for all
        numbers.setdefault(id(model), len(numbers))
    size = max((model.nbytes for model in models.values()), default=1)
    most = min(models_at_once(size, executor.side_by_side), MOST_AT_ONCE)
    for first in range(0, len(clients), most):
        part = {client: numbers[id(models[client])] for client in clients[first : first + most]}
        orders = [
            WorkOrder(
                client, 0, how.round, base, Plan(how.epochs), seeds.number("fine_tuning", client)
            )
            for client, base in part.items()
        ]
        bases = {base: models[client] for client, base in part.items()}
        for result in executor.train(OrderBatch(bases, orders)):
            yield result.order.client, result.params
