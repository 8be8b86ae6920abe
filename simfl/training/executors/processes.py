"""Compute in worker processes of this machine, one thread each.

Workers (see `core.processes`) get the task once, with its tensors in shared memory, and each model
version once.  Orders travel in lane-groups of about equal work; which worker computes a group, and
how orders are grouped, changes no bit.  A worker that dies is replaced and its group computed
again: orders are pure.
"""

import os
from collections import deque
from collections.abc import Iterable
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.core.machine import cores
from simfl.core.types import Params
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import RunError
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.groups import even_parts, lane_groups_of

if TYPE_CHECKING:
    import torch

    from simfl.training.evaluate import Evaluation
    from simfl.training.executors.worker import Worker
    from simfl.training.task import Task

DEATHS = 3
"""Workers that may die during one call before the run is given up."""


@executors.register("processes")
class Processes(Executor):
    """Train in several processes at once; the results are those of `inline`, byte for byte."""

    workers: int | None = Field(
        None, ge=1, description="worker processes, one thread each (default: one per core)"
    )

    _pack: "tuple[bytes, list[int]] | None" = PrivateAttr(None)
    _pool: "list[Worker]" = PrivateAttr(default_factory=list)
    _judged: "tuple[torch.Tensor, tuple[bytes, list[int]]] | None" = PrivateAttr(None)

    @override
    def start(self, task: "Task") -> None:
        import torch

        from simfl.training.executors.sharing import pack

        self.close()
        torch.set_num_threads(1)
        super().start(task)
        self._pack = pack(task)
        self._pool = [self._hire() for _ in range(self.workers or cores())]

    @override
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """Return the results of the batch's orders, in their order.

        Raises:
            RunError: workers died again and again, or training failed in one.
        """
        task = self.task
        try:
            return self._train(task, batch)
        except BaseException:
            self._dismiss()  # whoever is still busy would answer the next call with old results
            raise

    @override
    def evaluate(
        self, task: "Task", params: Params, x: "torch.Tensor", y: "torch.Tensor"
    ) -> "Evaluation":
        """The inputs are shared once, then each worker takes a part."""
        import torch

        from simfl.training.evaluate import BATCH, judge, logits_of
        from simfl.training.executors.sharing import pack

        parts = even_parts(len(x), len(self._pool), BATCH)
        if len(parts) < 2:
            return super().evaluate(task, params, x, y)
        if self._judged is None or self._judged[0] is not x:
            self._forget_judged()
            self._judged = x, pack((task.without_data(), x))
        try:
            for worker, part in zip(self._pool, parts, strict=False):
                worker.ask_logits(self._judged[1], params, part)
            answers = [worker.answer() for worker, _ in zip(self._pool, parts, strict=False)]
        except BaseException:
            self._dismiss()
            raise
        found = [
            # The part of a dead worker is done here; the next training replaces it.
            logits_of(task, params, x, part) if answer is None else torch.from_numpy(answer)
            for answer, part in zip(answers, parts, strict=True)
        ]
        return judge(task.training.loss, torch.cat([part.cpu() for part in found]), y.cpu())

    @override
    def close(self) -> None:
        super().close()
        self._dismiss()
        self._forget_judged()
        if self._pack is not None:
            for fd in self._pack[1]:
                os.close(fd)
        self._pack = None

    def _forget_judged(self) -> None:
        if self._judged is not None:
            for fd in self._judged[1][1]:
                os.close(fd)
        self._judged = None

    def _train(self, task: "Task", batch: OrderBatch) -> list[WorkResult]:
        while len(self._pool) < (self.workers or cores()):
            self._pool.append(self._hire())
        waiting = deque(lane_groups_of(task, batch.orders, len(self._pool)))
        busy: dict[int, list[int]] = {}
        found: dict[int, WorkResult] = {}
        deaths = 0
        while waiting or busy:
            for slot, worker in enumerate(self._pool):
                if waiting and slot not in busy:
                    busy[slot] = waiting.popleft()
                    worker.ask(batch.part(busy[slot]), batch.bases)
            for slot in self._answered(busy):
                results = self._pool[slot].answer()
                group = busy.pop(slot)
                if results is not None:
                    found.update(zip(group, results, strict=True))
                    continue
                deaths += 1
                if deaths >= DEATHS:
                    raise RunError(
                        f"{deaths} worker processes died, the last while it trained clients "
                        f"{[batch.orders[at].client for at in group]} (killed, out of memory, or "
                        "started by a script without `if __name__ == '__main__':`?)"
                    )
                self._pool[slot].stop()
                self._pool[slot] = self._hire()
                waiting.appendleft(group)
        return [found[at] for at in range(len(batch.orders))]

    def _answered(self, busy: Iterable[int]) -> list[int]:
        channels = {self._pool[slot].channel: slot for slot in busy}
        return sorted(channels[ready] for ready in wait(list(channels)))  # type: ignore[index]

    def _hire(self) -> "Worker":
        from simfl.training.executors.worker import Worker

        assert self._pack is not None
        return Worker(*self._pack)

    def _dismiss(self) -> None:
        for worker in self._pool:
            worker.stop()
        self._pool = []
