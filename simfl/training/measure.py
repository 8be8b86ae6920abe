"""What clients report of a model without training it: losses, FC-1 profiles, gradients."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from simfl.components.datasets.clients import Cohort
from simfl.components.losses.base import Loss
from simfl.components.selectors.base import Report
from simfl.core.types import Floats, Params
from simfl.core.work import MiniBatch
from simfl.errors import InputError
from simfl.training.evaluate import forward, load_to_evaluate, row_losses
from simfl.training.flat import trained
from simfl.training.gpu import on_device
from simfl.training.linear_calls import profile_layer
from simfl.training.program import Program, program_of
from simfl.training.task import Task

CLIENTS = 4096
"""Clients whose data is asked for at once, so that memory is bounded whatever the fleet."""
GRADIENT_BATCH = 512


def measure(
    task: Task,
    report: Report,
    params: Params,
    clients: Sequence[int],
    batch: MiniBatch | None = None,
    round_: int = 1,
) -> NDArray[np.float64]:
    """Return what `clients` report in a round of the model `params` `(p,)`, in eval mode.

    Returns:
        for `loss` `(m,)` mean losses on their validation part; for `fc1_profile` `(m, d)` mean
        pre-activations of the first fully connected layer and for `gradient` `(m, p)` gradients of
        the mean loss, both over their training part.  NaN for a client without samples.

    Raises:
        InputError: the report is none of these, or the model has no such layer.
    """
    program, loss = program_of(task), task.training.loss
    model = program.model_to_device(params)
    load_to_evaluate(program, model)
    parts = []
    for first in range(0, len(clients), CLIENTS):
        asked = [int(client) for client in clients[first : first + CLIENTS]]
        if report == "loss":
            cohort = task.data.validation_in(asked, round_)
            if batch is not None:
                looked_at = [batch.rows(*held) for held in zip(asked, cohort.rows, strict=True)]
                cohort = replace(cohort, rows=looked_at)
            parts.append(_losses(program, model, loss, cohort))
        elif report == "fc1_profile":
            parts.append(_profiles(program, _training(task, asked, round_)))
        elif report == "gradient":
            parts.append(_gradients(program, loss, _training(task, asked, round_)))
        else:
            raise InputError(f"no model can be measured for {report!r} without training")
    return np.concatenate(parts) if parts else np.zeros(0)


def _training(task: Task, clients: Sequence[int], round_: int) -> Cohort:
    return task.data.training_in(clients, [round_] * len(clients))


def mean_gradient(
    program: Program, loss: Loss, x: torch.Tensor, y: torch.Tensor
) -> NDArray[np.float32]:
    """Return the gradient `(p,)` of the mean loss over all rows at the module's parameters."""
    total = torch.zeros(program.layout.size, dtype=torch.float64, device=program.device)
    parameters = trained(program.module)
    for first in range(0, len(x), GRADIENT_BATCH):
        batch = slice(first, first + GRADIENT_BATCH)
        rows = loss.checked_rows(program.module(x[batch]), y[batch])
        parts = torch.autograd.grad(rows.sum(), parameters, materialize_grads=True)
        total += torch.cat([part.reshape(-1) for part in parts])
    mean = total / len(x) if len(x) else total
    return mean.to(torch.float32).cpu().numpy()


def _losses(program: Program, model: torch.Tensor, loss: Loss, cohort: Cohort) -> Floats:
    """Return `(m,)` mean losses of the `model` `(p,)`, which the program's module holds, too."""
    rows, starts = _all_rows(cohort)
    x, y = program.to_device(cohort.x), program.to_device(cohort.y)
    if program.compiled is not None:
        logits = program.compiled.logits(model, x, rows.numpy())
        return _means(row_losses(program, loss, logits, y[rows]), starts)
    losses = np.empty(len(rows))
    for batch, logits in _outputs(program, x, rows, starts):
        losses[batch] = row_losses(program, loss, logits, y[rows[batch]])
    return _means(losses, starts)


def _profiles(program: Program, cohort: Cohort) -> Floats:
    layer = profile_layer(program.module, program.example)
    rows, starts = _all_rows(cohort)
    seen: list[torch.Tensor] = []
    # A copy: the layer after may work in place.
    handle = layer.register_forward_hook(lambda _module, _inputs, out: seen.append(out.clone()))
    profiles = np.empty((len(rows), layer.out_features))
    try:
        x = program.to_device(cohort.x)
        for batch, _ in _outputs(program, x, rows, starts):
            profiles[batch] = seen[0][: batch.stop - batch.start].cpu().numpy()
            seen.clear()  # of a layer that is called again, the first call counts
    finally:
        handle.remove()
    return _means(profiles, starts)


def _gradients(program: Program, loss: Loss, cohort: Cohort) -> Floats:
    x, y = program.to_device(cohort.x), program.to_device(cohort.y)
    gradients = np.full((len(cohort.rows), program.layout.size), np.nan)
    for client, rows in enumerate(cohort.rows):
        if len(rows):
            index = on_device(rows, program.device)
            gradients[client] = mean_gradient(program, loss, x[index], y[index])
    return gradients


def _outputs(
    program: Program,
    x: torch.Tensor,
    rows: torch.Tensor,
    starts: NDArray[np.int64],
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Yield as `forward` does; under batch norm, nobody's rows beside another client's."""
    if not program.batch_norm:
        yield from forward(program, x, rows)
        return
    for begin, end in pairwise(starts.tolist()):
        for batch, logits in forward(program, x, rows[begin:end]):
            yield slice(begin + batch.start, begin + batch.stop), logits


def _all_rows(cohort: Cohort) -> tuple[torch.Tensor, NDArray[np.int64]]:
    """Return all rows, client after client, and where each client's begin and the last's end."""
    sizes = np.array([len(rows) for rows in cohort.rows], dtype=np.int64)
    rows = np.concatenate(cohort.rows) if len(sizes) else np.zeros(0, dtype=np.int64)
    return torch.from_numpy(rows), np.concatenate([[0], np.cumsum(sizes)])


def _means(values: Floats, starts: NDArray[np.int64]) -> Floats:
    """Return `(clients, ...)` means of each one's consecutive `values` (NaN: it has none)."""
    sizes = np.diff(starts)
    means = np.full((len(sizes), *values.shape[1:]), np.nan)
    held = sizes > 0
    if held.any():
        sums = np.add.reduceat(values, starts[:-1][held], axis=0)
        means[held] = sums / sizes[held].reshape(-1, *[1] * (values.ndim - 1))
    return means
