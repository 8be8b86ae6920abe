"""THE local training program: orders and their base models in, trained models out.

Every executor calls `train`; they differ only in where.  A result depends on its order, its base
model, its correction and the task, never on the company in which it is computed.
"""

from collections.abc import Iterator

import torch

from simfl.core.blame import blaming_code_of
from simfl.core.machine.memory import is_out_of_memory
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import RunError
from simfl.training.lane_training import LaneTraining
from simfl.training.task import Task

ROWS_AT_ONCE = 10_000_000
"""Samples of clients that are trained together at most, each as often as it is trained on."""


def train(
    task: Task, batch: OrderBatch, models: list[torch.Tensor] | None = None
) -> list[WorkResult]:
    """Return the results of the batch's orders, in their order.

    First every client runs its epochs over all samples (or its exact number of steps), then those
    whose plan says so choose a coreset at the parameters reached and run the rest over it, with a
    fresh optimizer (docs/algorithms.md, B.3).  Plans without full epochs choose it at the base.

    Args:
        task: the learning task.
        batch: what to train, from which models.
        models: is given the trained models `(p,)`, which stay where they were trained; the results
            then have none (None: each result has its own).

    Raises:
        InputError: a plan needs a coreset but the task has none.
        RunError: a single client's training does not fit into memory.
    """
    return [result for part in _portions(task, batch) for result in _train(task, part, models)]


def _portions(task: Task, batch: OrderBatch) -> Iterator[OrderBatch]:
    """Yield orders, one at least, of up to `ROWS_AT_ONCE` together; company changes no bit.

    All batches of all of them are dealt before the first is trained on.
    """
    sizes, size = task.data.sizes, task.training.batch_size
    first, rows = 0, 0.0
    for place, order in enumerate(batch.orders):
        wanted = order.plan.units(int(sizes[order.client]), size)
        if place > first and rows + wanted > ROWS_AT_ONCE:
            yield batch.part(range(first, place))
            first, rows = place, 0.0
        rows += wanted
    if batch.orders:
        yield batch.part(range(first, len(batch.orders))) if first else batch


def _train(task: Task, batch: OrderBatch, models: list[torch.Tensor] | None) -> list[WorkResult]:
    """Train all orders at once, or, where they do not fit into memory, one half after the other."""
    try:
        clients, round_ = sorted({order.client for order in batch.orders}), batch.orders[0].round
        with blaming_code_of(task.code, f"training clients {clients} in round {round_}"):
            training = LaneTraining(task, batch)
            results = training.results(with_models=models is None)
        if models is not None:
            models += training.models
        return results
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        if len(batch.orders) == 1:
            client = batch.orders[0].client
            raise RunError(f"training client {client} does not fit into memory: {error}") from None
    # One half after the other takes less; company changes no bit.
    middle, last = len(batch.orders) // 2, len(batch.orders)
    halves = batch.part(range(middle)), batch.part(range(middle, last))
    return [result for half in halves for result in _train(task, half, models)]
