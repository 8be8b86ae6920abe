"""How good a model is: accuracy and mean loss on a data set.

Batches have a fixed size that suits the model: rows are independent of each other only as far as
every batch has the same shape, so the last one is filled up with copies of its first row, unless
the model normalises by what is in a batch.
"""

import math
from collections.abc import Iterator
from numbers import Real

import numpy as np
import torch

from simfl.components.losses.base import Loss
from simfl.core.blame import blaming
from simfl.core.evaluation import Evaluation
from simfl.core.ownership import users_own
from simfl.core.readonly import read_only
from simfl.core.returned import expect
from simfl.core.types import Floats, Params
from simfl.training.flat import load
from simfl.training.program import Program, program_of
from simfl.training.task import Task

BATCH = 1000
"""Rows per forward pass of fully connected models, and on a GPU; a multiple of those below."""
IMAGES = 50
"""Rows per forward pass of convolutions: their activations then stay in the cache."""
OTHERS = 250
"""Rows per forward pass of all other models."""
DIGITS = 12
"""Decimals of an accuracy whose answers are right in part: it is held against shares as written."""


def evaluate(task: Task, params: Params, x: torch.Tensor, y: torch.Tensor) -> Evaluation:
    """Return accuracy and loss of the model `params` `(p,)` in eval mode.

    Args:
        task: whose model and device are used.
        params: `(p,)` the model.
        x: `(n, ...)` inputs.
        y: `(n,)` targets.
    """
    return judge(task, logits_of(task, params, x, slice(0, len(x))), y)


def logits_of(task: Task, params: Params, x: torch.Tensor, part: slice) -> torch.Tensor:
    """Return the logits of rows `part` of `x`; how `x` is cut changes no bit.

    Args:
        task: whose model and device are used.
        params: `(p,)` the model.
        x: `(n, ...)` inputs.
        part: begins at a multiple of `BATCH`, and ends at one or at n.
    """
    program = program_of(task)
    if program.compiled is not None:  # which needs no module that holds them
        rows = np.arange(part.start, part.stop)
        return program.compiled.logits(program.model_to_device(params), x, rows)
    load_to_evaluate(program, params)
    parts = [logits for _, logits in forward(program, program.to_device(x), part)]
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts) if parts else torch.empty(0, task.classes, device=program.device)


def judge(task: Task, outputs: torch.Tensor, y: torch.Tensor) -> Evaluation:
    """Return how right `outputs` `(n, c)` are about targets `y` `(n, ...)`.

    A NaN is no answer, and not right.  Where an output is not finite no metric is a number.
    """
    if not len(outputs):
        return Evaluation(float("nan"), float("nan"))
    outputs, y = outputs.cpu(), y.cpu()  # whoever computed them
    losses, hits = _losses_and_hits(task, outputs, y)
    mean = float(losses.mean())
    # One number to look at; but the sum of finite ones may overflow.
    finite = bool(outputs.sum().isfinite()) or bool(outputs.isfinite().all())
    accuracy = None
    if hits is not None:
        right = hits.double().numpy()
        if not finite:  # who says NaN is never right
            right = np.where(outputs.isnan().flatten(1).any(1).numpy(), 0.0, right)
        accuracy = float(right.mean())
        if hits.is_floating_point():  # tenths add up to six tenths, not to a little less
            accuracy = round(accuracy, DIGITS)
    if not finite:
        return Evaluation(accuracy, mean, {metric.label: None for metric in task.metrics})
    return Evaluation(accuracy, mean, _metrics(task, outputs, y))


def _losses_and_hits(
    task: Task, outputs: torch.Tensor, y: torch.Tensor
) -> tuple[Floats, torch.Tensor | None]:
    """Return the loss of each row `(n,)`, and how right answers are (None: there is no right)."""
    loss = task.training.loss
    if loss.softmax:
        return _cross_entropy(program_of(task), outputs, y)
    own = bool(users_own([loss]))

    def given() -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the loss is given: copies, where users' code may do anything with them."""
        return (outputs.clone(), y.clone()) if own else (outputs, y)

    return _checked_losses(loss, *given()), loss.checked_hits(*given())


def _metrics(task: Task, outputs: torch.Tensor, y: torch.Tensor) -> dict[str, float | None]:
    """Return what `task` measures of finite outputs, by label (None: it gives no number)."""
    if not task.metrics:
        return {}
    given, true = read_only(outputs.double().numpy()), read_only(y.numpy())
    numbers: dict[str, float | None] = {}
    for metric in task.metrics:
        with blaming(metric, "judging the model"):
            number = metric.of(given, true)
            sound = isinstance(number, Real) and not math.isinf(number)
            expect(sound, "a finite number, or NaN", repr(number))
            numbers[metric.label] = None if math.isnan(number) else float(number)
    return numbers


def load_to_evaluate(program: Program, params: Params | torch.Tensor) -> None:
    """Copy the flat vector `params` `(p,)` into the program's module and put it into eval mode."""
    if isinstance(params, np.ndarray):
        params = program.model_to_device(params)
    load(program.module, params.detach())
    program.module.eval()


def forward(
    program: Program, x: torch.Tensor, rows: torch.Tensor | slice
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Yield ``(slice of rows, logits)`` of the program's module over `x`, batch by batch.

    Args:
        program: its module holds the parameters.
        x: `(n, ...)` inputs.
        rows: `(m,)` which of them, in which order; or a part of all, which begins at a multiple of
            `BATCH`, and is cut as it is when all are asked for.
    """
    module = program.module
    images = program.channels_last and not program.batch_norm  # whose batches had better be large
    whole = program.stacked or program.device.type != "cpu"
    size = BATCH if whole else IMAGES if images else OTHERS
    part = rows if isinstance(rows, slice) else slice(0, len(rows))
    n = len(x) if isinstance(rows, slice) else len(rows)
    with torch.no_grad():
        for first in range(part.start, part.stop, size):
            last = min(first + size, n)
            # A copy: what a module does to its inputs in place is nobody else's.
            batch = x[first:last].clone() if isinstance(rows, slice) else x[rows[first:last]]
            if last - first < size < n and not program.batch_norm:
                batch = torch.cat(
                    [batch, batch[:1].expand(size - (last - first), *batch.shape[1:])]
                )
            if program.channels_last and batch.dim() == 4:
                batch = batch.contiguous(memory_format=torch.channels_last)
            yield slice(first, last), module(batch)[: last - first]


def row_losses(program: Program, loss: Loss, logits: torch.Tensor, labels: torch.Tensor) -> Floats:
    """Return the loss of each row `(n,)` of what the program's model says."""
    if not loss.softmax:
        return _checked_losses(loss, logits, labels)
    return _cross_entropy(program, logits, labels)[0]


def _checked_losses(loss: Loss, logits: torch.Tensor, labels: torch.Tensor) -> Floats:
    return loss.checked_rows(logits, labels).double().cpu().numpy()


def _cross_entropy(
    program: Program, logits: torch.Tensor, labels: torch.Tensor
) -> tuple[Floats, torch.Tensor]:
    """Return the cross-entropy of each row `(n,)`, and whether its answer is right `(n,)`."""
    if program.compiled is not None:  # PyTorch begins anew for each of rows as short as these
        return program.compiled.judge(logits, labels)
    # `log_softmax` takes five times as long.
    most, places = logits.max(1, keepdim=True)
    sums = (logits - most).exp_().sum(1, keepdim=True)
    right = logits.gather(1, labels.unsqueeze(1))
    losses = sums.log_().add_(most).sub_(right).squeeze(1)
    return losses.double().cpu().numpy(), places.squeeze(1) == labels
