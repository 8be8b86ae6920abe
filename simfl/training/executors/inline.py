"""Compute in this very process, on one thread: the reference that every executor must equal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.core.types import Corrections, Params
from simfl.core.work import WorkOrder, WorkResult
from simfl.training.executors.base import Executor, executors

if TYPE_CHECKING:
    from simfl.training.task import Task


@executors.register("inline")
class Inline(Executor):
    """Train in the simulation's own process."""

    @override
    def start(self, task: "Task") -> None:
        import torch

        torch.set_num_threads(1)  # the number of threads changes the bits of a convolution
        super().start(task)

    @override
    def train(
        self,
        bases: Mapping[int, Params],
        orders: Sequence[WorkOrder],
        corrections: Corrections | None = None,
    ) -> list[WorkResult]:
        from simfl.training.local import train

        return train(self.task, bases, orders, corrections)
