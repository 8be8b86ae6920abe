"""The seam of execution: orders -> results.  Executors differ only in where they compute."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simfl.registry import Component, Registry
from simfl.selectors.base import Report
from simfl.work import Corrections, MiniBatch, Params, WorkOrder, WorkResult

if TYPE_CHECKING:
    import torch

    from simfl.learning.evaluate import Evaluation
    from simfl.learning.task import Task


class Executor(Component, ABC):
    """Computes orders.  Equal orders give equal bits whatever the executor or its workers."""

    @abstractmethod
    def start(self, task: "Task") -> None:
        """Get ready to compute orders of `task`."""

    @abstractmethod
    def train(
        self,
        bases: Mapping[int, Params],
        orders: Sequence[WorkOrder],
        corrections: Corrections | None = None,
    ) -> list[WorkResult]:
        """Return the results of `orders`, in their order.

        Args:
            bases: the model versions that the orders start from.
            orders: what to train.
            corrections: what each order adds to every gradient; None: nothing.
        """

    @abstractmethod
    def measure(
        self,
        report: Report,
        params: Params,
        clients: Sequence[int],
        batch: MiniBatch | None = None,
    ) -> NDArray[np.float64]:
        """Return what `clients` report of the model `params` (`loss`, `fc1_profile`, `gradient`).

        Args:
            report: what is asked.
            params: `(p,)` at which model.
            clients: who.
            batch: losses on a random mini-batch only (None: on all that each client holds for it).

        Returns:
            `(m,)` mean losses on their validation part, or `(m, d)` profiles or gradients of their
            training part.
        """

    def evaluate(
        self, task: "Task", params: Params, x: "torch.Tensor", y: "torch.Tensor"
    ) -> "Evaluation":
        """Return accuracy and loss of the model `params` on a data set.

        Args:
            task: whose model and device are used.
            params: `(p,)` the model.
            x: `(n, ...)` inputs; the same tensor each time, if they are the same inputs.
            y: `(n,)` targets.
        """
        from simfl.learning.evaluate import evaluate

        return evaluate(task, params, x, y)

    def close(self) -> None:
        """Give back workers; safe to call twice."""


executors: Registry[Executor] = Registry("executor", "simfl.executors")
