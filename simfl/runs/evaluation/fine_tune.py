"""A model fine-tuned by each client on its own samples: the simplest personalisation.

Wang et al., 2019 (arXiv:1910.10252); Cheng, Chadha & Duchi, 2021 (arXiv:2108.07313).
"""

from collections.abc import Iterator, Mapping, Sequence
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

    As in a round, but nothing pulls them back to the model, all parameters are trained together and
    nothing is measured besides.
    """
    return replace(
        task, training=replace(task.training, proximal=0.0, personal_epochs=None), wants=()
    )


def fine_tuned(
    executor: Executor,
    model: Params,
    own: Mapping[int, Params],
    clients: Sequence[int],
    how: FineTuning,
    seeds: Seeds,
) -> Iterator[tuple[int, Params]]:
    """Yield each client and its own model `(p,)`, some at a time.

    Args:
        executor: started with a task of clients that train `alone`.
        model: `(p,)` that they begin with.
        own: of those that begin with one of their own, which.
        clients: who.
        how: they do it.
        seeds: the run's root of randomness; a client's is addressed ``("fine_tuning", client)``.
    """
    most = min(models_at_once(model.nbytes, executor.side_by_side), MOST_AT_ONCE)
    for first in range(0, len(clients), most):
        part = clients[first : first + most]
        bases = {client + 1: own[client] for client in part if client in own} | {0: model}
        orders = [
            WorkOrder(
                client,
                0,
                how.round,
                client + 1 if client + 1 in bases else 0,
                Plan(how.epochs),
                seeds.number("fine_tuning", client),
            )
            for client in part
        ]
        for result in executor.train(OrderBatch(bases, orders)):
            yield result.order.client, result.params
