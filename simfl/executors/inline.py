"""Compute in this very process, on one thread: the reference that every executor must equal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from simfl.errors import RunError
from simfl.executors.base import Executor, executors
from simfl.selectors.base import Report
from simfl.work import Corrections, MiniBatch, Params, WorkOrder, WorkResult

if TYPE_CHECKING:
    from simfl.learning.task import Task


@executors.register("inline")
class Inline(Executor):
    """Train in the simulation's own process."""

    _task: "Task | None" = PrivateAttr(None)

    def start(self, task: "Task") -> None:
        """See `Executor.start`."""
        import torch

        torch.set_num_threads(1)  # the number of threads changes the bits of a convolution
        self._task = task

    def train(
        self,
        bases: Mapping[int, Params],
        orders: Sequence[WorkOrder],
        corrections: Corrections | None = None,
    ) -> list[WorkResult]:
        """See `Executor.train`."""
        from simfl.learning.local import train

        return train(self._started(), bases, orders, corrections)

    def measure(
        self,
        report: Report,
        params: Params,
        clients: Sequence[int],
        batch: MiniBatch | None = None,
    ) -> NDArray[np.float64]:
        """See `Executor.measure`."""
        from simfl.learning.measure import measure

        return measure(self._started(), report, params, clients, batch)

    def close(self) -> None:
        """See `Executor.close`."""
        self._task = None

    def _started(self) -> "Task":
        if self._task is None:
            raise RunError("the executor was not started")
        return self._task
