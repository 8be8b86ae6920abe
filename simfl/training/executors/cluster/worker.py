"""What Ray workers do: train lane-groups, and add up models that others have trained."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simfl.components.aggregators.weighting import GroupedSum
from simfl.core.types import Floats, Params
from simfl.core.work import NO_MODEL, OrderBatch, WorkResult
from simfl.errors import SimflError
from simfl.training.executors.sums import is_sound

if TYPE_CHECKING:
    from simfl.training.task import Task

TASKS_KEPT = 4
"""Tasks that a worker remembers (variants of a scenario may share the workers)."""

_tasks: "dict[Any, Task]" = {}
"""The tasks that this worker has seen, the last used last."""


def compute(
    parcel: Sequence[Any], batch: OrderBatch, versions: Sequence[int], *models: Params
) -> list[WorkResult] | SimflError:
    """Train a lane-group.

    Args:
        parcel: a reference to the packed task; in a list, or Ray would fetch it every time.
        batch: what to train, without the models that it starts from.
        versions: of those models.
        models: those models, in memory that can't be written.
    """
    import torch

    from simfl.training.executors.worker import attempt
    from simfl.training.local import train

    torch.set_num_threads(1)
    bases = {version: np.array(model) for version, model in zip(versions, models, strict=True)}
    return attempt(partial(train, _task(parcel[0]), replace(batch, bases=bases)))


def compute_apart(
    parcel: Sequence[Any], batch: OrderBatch, versions: Sequence[int], *models: Params
) -> tuple[Any, ...]:
    """Do as `compute` does, and return the models apart from the results.

    Returns:
        A result without its model, and whether it is sound, of each order (or what went wrong);
        then each model.
    """
    results = compute(parcel, batch, versions, *models)
    if isinstance(results, SimflError):
        return results, *[None for _ in batch.orders]
    answer = [(replace(result, params=NO_MODEL), is_sound(result)) for result in results]
    return answer, *[result.params for result in results]


def add_up(weights: Sequence[float], *models: Params) -> Floats | None:
    """Return `(p,)` the weighted sum of a group's models."""
    total = GroupedSum()
    for weight, model in zip(weights, models, strict=True):
        total.add(weight, model)
    return total.value()


def find_code(path: Sequence[str]) -> None:
    """Let this worker import what the user's process can: code may lie beside a scenario."""
    sys.path += [folder for folder in path if folder not in sys.path]


def _task(reference: Any) -> "Task":
    task = _tasks.pop(reference, None)
    if task is None:
        import ray

        from simfl.training.executors.sharing import unpack_arrays

        path, packed = ray.get(reference)
        find_code(path)
        task = unpack_arrays(*packed)
    _tasks[reference] = task
    while len(_tasks) > TASKS_KEPT:
        del _tasks[next(iter(_tasks))]
    return task
