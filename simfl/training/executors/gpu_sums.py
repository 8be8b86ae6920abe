"""Models added up on the GPU where they were trained: only the next model leaves it."""

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING

from simfl.components.aggregators.weighting import GROUP
from simfl.core.types import Floats, OrderKey
from simfl.core.work import OrderBatch, WorkResult
from simfl.training.executors.sums import Sum, is_sound

if TYPE_CHECKING:  # PyTorch is imported late: listing executors must not wait for it
    import torch

    from simfl.training.task import Task


class GpuSum:
    """A `GroupedSum` of tensors, to the same bits: no product is fused with an addition."""

    def __init__(self) -> None:
        self._total: torch.Tensor | None = None
        self._group: torch.Tensor | None = None
        self._terms = 0

    def add(self, coefficient: float, vector: "torch.Tensor") -> None:
        """Add ``coefficient * vector`` `(p,)`, the next term."""
        import torch

        # Zeros first, as there: they make a negative zero positive.
        if self._group is None:
            self._group = torch.zeros_like(vector, dtype=torch.float64)
        self._group += vector.double().mul_(coefficient)
        self._terms += 1
        if self._terms == GROUP:
            self._close()

    @property
    def is_finite(self) -> bool:
        """Whether all numbers added up so far are: no other number makes up for one that is not."""
        import torch

        parts = [part.isfinite().all() for part in (self._total, self._group) if part is not None]
        return bool(torch.stack(parts).all()) if parts else True

    def value(self) -> "torch.Tensor | None":
        """Return `(p,)` the sum, to which nothing is added any more; None: of no terms."""
        self._close()
        return self._total

    def _close(self) -> None:
        if self._group is not None:
            self._total = self._group if self._total is None else self._total.add_(self._group)
        self._group, self._terms = None, 0


def add_up_on_gpu(task: "Task", batch: OrderBatch, weights: Floats, at_once: int) -> Sum:
    """Do what `sums.add_up` does on the GPU, which then knows the total: float32, from float64.

    Args:
        task: what is learnt.
        batch: its orders in canonical order.
        weights: `(r,)` what each model is multiplied by.
        at_once: models that may be there at the same time.
    """
    from simfl.training.local import train
    from simfl.training.program import program_of

    total, results, discarded = GpuSum(), list[WorkResult](), list[OrderKey]()
    places = range(len(batch.orders))
    for first in places[::at_once]:
        part = slice(first, first + at_once)
        models: list[torch.Tensor] = []
        some = train(task, batch.part(places[part]), models)
        finite: Iterable[bool] = repeat(True)
        if not discarded:
            for weight, model in zip(weights[part].tolist(), models, strict=True):
                total.add(weight, model)
        if discarded or not total.is_finite:
            finite = [bool(model.isfinite().all()) for model in models]
        for result, all_finite in zip(some, finite, strict=False):
            if not all_finite or not is_sound(result):
                discarded.append(result.order.key)
        results += some
    added = None if discarded else total.value()
    if added is None:
        return Sum(None, results, discarded)
    return Sum(program_of(task).model_from_device(added.float()), results, discarded)
