"""Compute in this very process, on one thread: the reference that every executor must equal."""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.core.work import OrderBatch, WorkResult
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
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        from simfl.training.local import train

        return train(self.task, batch)
