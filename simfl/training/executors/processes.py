"""Compute in worker processes of this machine, one thread each.

Workers (see `core.processes`) get the task once, with its tensors in shared memory, and each model
version once.  Orders travel in lane-groups of about equal work; which worker computes a group, and
how orders are grouped, changes no bit.  A worker that dies, or does not answer for much longer than
its work should take, is replaced and its group computed again, in halves: orders are pure.
"""

import os
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.core.evaluation import Evaluation
from simfl.core.machine import cores
from simfl.core.types import Params
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import RunError
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.groups import even_parts, lane_groups, work_of
from simfl.training.executors.patience import Patience

if TYPE_CHECKING:
    import torch

    from simfl.training.executors.worker import Worker
    from simfl.training.task import Task

DEATHS = 3
"""How often the worker of one group, or of a part of it, may die before the run is given up."""


@dataclass
class _Group:
    """Orders that one worker computes.

    Attributes:
        at: where they are in the batch.
        work: how many samples they go through.
        failures: how often a worker has died of them, or of what they were part of.
        asked_s: when they were handed out.
        due_s: when they should be back.
    """

    at: list[int]
    work: float
    failures: int = 0
    asked_s: float = 0.0
    due_s: float = 0.0

    def halves(self) -> "list[_Group]":
        """Return what to try next: smaller, in case it was for want of memory."""
        middle = len(self.at) // 2
        parts = [part for part in (self.at[:middle], self.at[middle:]) if part]
        return [_Group(part, self.work, self.failures + 1) for part in parts]


@executors.register("processes")
class Processes(Executor):
    """Train in several processes at once; the results are those of `inline`, byte for byte."""

    workers: int | None = Field(
        None, ge=1, description="worker processes, one thread each (default: one per core)"
    )

    _pack: "tuple[bytes, list[int]] | None" = PrivateAttr(None)
    _pool: "list[Worker]" = PrivateAttr(default_factory=list)
    _patience: Patience = PrivateAttr(default_factory=Patience)
    _judged: "tuple[torch.Tensor, tuple[bytes, list[int]]] | None" = PrivateAttr(None)

    @override
    def start(self, task: "Task") -> None:
        import torch

        from simfl.training.executors.sharing import pack

        self.close()
        torch.set_num_threads(1)
        super().start(task)
        self._pack = pack(task)
        self._fill()

    @property
    @override
    def side_by_side(self) -> int:
        return self.workers or cores()

    @override
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        """Return the results of the batch's orders, in their order.

        Raises:
            RunError: workers died again and again, or training failed in one.
        """
        task = self.task
        try:
            with self._asking(batch):
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
            answers = [
                worker.answer(self._patience.limit_s(part.stop - part.start))
                for worker, part in zip(self._pool, parts, strict=False)
            ]
        except BaseException:
            self._dismiss()
            raise
        logits = [
            # The part of a dead worker is done here; the next training replaces it.
            logits_of(task, params, x, part) if answer is None else torch.from_numpy(answer)
            for answer, part in zip(answers, parts, strict=True)
        ]
        return judge(task, torch.cat([part.cpu() for part in logits]), y)

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
        self._fill()
        work = work_of(task, batch.orders)
        groups = lane_groups(work, len(self._pool))
        waiting = deque(_Group(at, sum(work[place] for place in at)) for at in groups)
        busy: dict[int, _Group] = {}
        by_place: dict[int, WorkResult] = {}
        while waiting or busy:
            for slot, worker in enumerate(self._pool):
                if waiting and slot not in busy:
                    busy[slot] = group = waiting.popleft()
                    group.asked_s = time.monotonic()
                    group.due_s = group.asked_s + self._patience.limit_s(group.work, group.failures)
                    worker.ask(batch.part(group.at), batch.bases)
            for slot in self._wait_for_answers(busy):
                results = self._pool[slot].answer()
                group = busy.pop(slot)
                if results is not None:
                    self._patience.learn(group.work, time.monotonic() - group.asked_s)
                    by_place.update(zip(group.at, results, strict=True))
                    continue
                if group.failures + 1 >= DEATHS:
                    raise RunError(
                        f"{DEATHS} worker processes died, the last while it trained clients "
                        f"{[batch.orders[at].client for at in group.at]} in round "
                        f"{batch.orders[0].round} (killed, stopped, out of memory, in code that "
                        "never ends, or started by a script without `if __name__ == '__main__':`?)"
                    )
                gone, self._pool[slot] = self._pool[slot], self._hire()
                gone.stop()
                waiting.extendleft(group.halves())
        return [by_place[at] for at in range(len(batch.orders))]

    def _wait_for_answers(self, busy: Mapping[int, "_Group"]) -> list[int]:
        """Wait; return who has answered or died.  Who is overdue is killed, as if it had died."""
        channels = {self._pool[slot].channel: slot for slot in busy}
        left_s = min(group.due_s for group in busy.values()) - time.monotonic()
        ready = {channels[channel] for channel in wait(list(channels), min(max(left_s, 0.0), 1e6))}  # type: ignore[index]
        for slot, group in busy.items():
            if slot not in ready and time.monotonic() >= group.due_s:
                self._pool[slot].kill()
                ready.add(slot)
        return sorted(ready)

    def _fill(self) -> None:
        """Hire who is missing, one by one: `close` ends them, too, if there is no room for all."""
        while len(self._pool) < self.side_by_side:
            self._pool.append(self._hire())

    def _hire(self) -> "Worker":
        from simfl.training.executors.worker import Worker

        assert self._pack is not None
        return Worker(*self._pack)

    def _dismiss(self) -> None:
        for worker in self._pool:
            worker.stop()
        self._pool = []
