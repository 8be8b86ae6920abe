"""The seam of execution: orders -> results.  Executors differ only in where they compute."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from simfl.components.selectors.base import Report
from simfl.core.at_work import asking
from simfl.core.blame import blaming_code_of
from simfl.core.component import Component
from simfl.core.evaluation import Evaluation
from simfl.core.registry import Registry
from simfl.core.types import Floats, Params
from simfl.core.work import MiniBatch, OrderBatch, WorkOrder, WorkResult
from simfl.errors import RunError
from simfl.training.executors.sums import Sum, add_up, models_at_once

if TYPE_CHECKING:
    import torch

    from simfl.training.task import Task


class Executor(Component, ABC):
    """Computes orders.  Equal orders give equal bits whatever the executor or its workers."""

    _task: "Task | None" = PrivateAttr(None)

    def start(self, task: "Task") -> None:
        """Get ready to compute orders of `task`; who overrides this calls it, too."""
        self._task = task

    @property
    def task(self) -> "Task":
        """What it was started with.

        Raises:
            RunError: it was not started, or is closed.
        """
        if self._task is None:
            raise RunError("the executor was not started")
        return self._task

    @property
    def side_by_side(self) -> int:
        """How many orders it computes at the same time; with fewer, some of it is idle."""
        return 1

    @abstractmethod
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """Return the results of the batch's orders, in their order."""

    def worth_adding_up(self, models: int, model_bytes: int) -> bool:
        """Whether to ask for the sum of so many models instead: they do not fit all at once."""
        return models > self._at_once(model_bytes)

    def add_up(self, batch: OrderBatch, weigh: Callable[[Sequence[WorkOrder]], Floats]) -> Sum:
        """Train a batch and return the weighted sum of its models, which are not kept.

        Args:
            batch: its orders in canonical order.
            weigh: (orders) -> `(r,)` what each model is multiplied by if these are all that count.

        Returns:
            The sum and the results of those that are sound, and whose are not.
        """
        added = self._sum(batch, weigh(batch.orders))
        if not (discarded := added.discarded):
            return added
        # The weights of all others depend on it: they are trained once more, and are sound again.
        sound = [at for at, order in enumerate(batch.orders) if order.key not in discarded]
        if not sound:
            return Sum(None, [], discarded)
        part = batch.part(sound)
        return replace(self._sum(part, weigh(part.orders)), discarded=discarded)

    def _sum(self, batch: OrderBatch, weights: Floats) -> Sum:
        """Train and add up, no more models at a time than fit.

        Without a total if one is not sound, or all weights are zero.
        """
        added = add_up(self.train, batch, weights, self._at_once(batch.model_bytes))
        return added if weights.any() else replace(added, total=None)

    def _at_once(self, model_bytes: int) -> int:
        """Return how many models may be there at the same time."""
        return models_at_once(model_bytes, self.side_by_side)

    def _asking(self, batch: OrderBatch) -> AbstractContextManager[None]:
        """Return a context in which `at_work` tells whose code others train `batch` with."""

        def doing() -> str:
            clients = sorted({order.client for order in batch.orders})
            return f"training clients {clients} in round {batch.orders[0].round}"

        return asking(self.task.code, doing)

    def measure(
        self,
        report: Report,
        params: Params,
        clients: Sequence[int],
        batch: MiniBatch | None = None,
        round_: int = 1,
    ) -> NDArray[np.float64]:
        """Return what `clients` report of the model `params` (`loss`, `fc1_profile`, `gradient`).

        Computed in this process, in the order asked.

        Args:
            report: what is asked.
            params: `(p,)` at which model.
            clients: who.
            batch: losses on a random mini-batch only (None: on all that each client holds for it).
            round_: in which round: an attack may begin with one.

        Returns:
            `(m,)` mean losses on their validation part, or `(m, d)` profiles or gradients of their
            training part.
        """
        from simfl.training.measure import measure

        with blaming_code_of(self.task.code, f"measuring {report} of clients {list(clients)}"):
            return measure(self.task, report, params, clients, batch, round_)

    def evaluate(
        self, task: "Task", params: Params, x: "torch.Tensor", y: "torch.Tensor"
    ) -> "Evaluation":
        """Return accuracy and loss of the model `params` on a data set, computed in this process.

        Args:
            task: whose model and device are used.
            params: `(p,)` the model.
            x: `(n, ...)` inputs; the same tensor each time, if they are the same inputs.
            y: `(n,)` targets.
        """
        from simfl.training.evaluate import evaluate

        return evaluate(task, params, x, y)

    def close(self) -> None:
        """Give back workers and data; safe to call twice."""
        self._task = None


executors: Registry[Executor] = Registry("executor", "simfl.training.executors")
