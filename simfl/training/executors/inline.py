"""Compute in this very process, on one thread: the reference that every executor must equal."""

from typing import TYPE_CHECKING

from typing_extensions import override

from simfl.core.types import Floats
from simfl.core.work import OrderBatch, WorkResult
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.sums import Sum

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

    @override
    def worth_adding_up(self, models: int, model_bytes: int) -> bool:
        return self._on_gpu or super().worth_adding_up(models, model_bytes)

    @override
    def _sum(self, batch: OrderBatch, weights: Floats) -> Sum:
        if not (self._on_gpu and weights.any()):
            return super()._sum(batch, weights)
        from simfl.training.executors.gpu_sums import add_up_on_gpu
        from simfl.training.gpu import models_at_once

        at_once = models_at_once(self.task.device, batch.model_bytes)
        return add_up_on_gpu(self.task, batch, weights, at_once)

    @property
    def _on_gpu(self) -> bool:
        return self.task.device != "cpu"
