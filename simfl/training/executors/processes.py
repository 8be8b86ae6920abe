"""Compute in worker processes of this machine, one thread each.

Workers (see `core.processes`) get the task once, with its tensors in shared memory, and each model
version once.  Orders travel in lane-groups of about equal work; which worker computes a group, and
how orders are grouped, changes no bit.  A worker that dies, or does not answer for much longer than
its work should take, is replaced and its group computed again, in halves: orders are pure.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.weighting import GROUP, GroupedSum
from simfl.core.evaluation import Evaluation
from simfl.core.machine import cores
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import RunError
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.groups import even_parts, lane_groups, work_of
from simfl.training.executors.patience import Patience
from simfl.training.executors.sums import Sum

if TYPE_CHECKING:
    import torch

    from simfl.training.executors.sharing import Packed
    from simfl.training.executors.worker import Worker
    from simfl.training.task import Task

TRAVEL_BYTES = 1 * 2**20
"""Models from here on are added up by workers, if that leaves none of them idle for long."""
UNEVEN = 1.3
"""How much longer the busiest worker may take for it than if models were shared out evenly."""

DEATHS = 3
"""How often the worker of one group, or of a part of it, may die before the run is given up."""


@dataclass
class _Group:
    """Orders that one worker computes.

    Attributes:
        at: where they are in the batch.
        work: how many samples they go through.
        weights: `(r,)` of the sum that is wanted instead of their models (None: the models).
        failures: how often a worker has died of them, or of what they were part of.
        asked_s: when they were handed out.
        due_s: when they should be back.
    """

    at: list[int]
    work: float
    weights: Floats | None = None
    failures: int = 0
    asked_s: float = 0.0
    due_s: float = 0.0

    def again(self) -> "list[_Group]":
        """Return what to try next: smaller, in case it was for want of memory.

        A sum's models are not all there at once, and it can't be cut without changing its bits.
        """
        middle = 0 if self.weights is not None else len(self.at) // 2
        parts = [part for part in (self.at[:middle], self.at[middle:]) if part]
        return [_Group(part, self.work, self.weights, self.failures + 1) for part in parts]


@executors.register("processes")
class Processes(Executor):
    """Train in several processes at once; the results are those of `inline`, byte for byte."""

    workers: int | None = Field(
        None, ge=1, description="worker processes, one thread each (default: one per core)"
    )

    _pack: "Packed | None" = PrivateAttr(None)
    _pool: "list[Worker]" = PrivateAttr(default_factory=list)
    _patience: Patience = PrivateAttr(default_factory=Patience)
    _judged: "tuple[torch.Tensor, Packed] | None" = PrivateAttr(None)

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
        work = work_of(self.task, batch.orders)
        groups = [
            _Group(at, sum(work[place] for place in at))
            for at in lane_groups(work, self.side_by_side)
        ]
        by_place: dict[int, WorkResult] = {}

        def take(group: _Group, results: list[WorkResult]) -> None:
            by_place.update(zip(group.at, results, strict=True))

        self._compute(batch, groups, take)
        return [by_place[at] for at in range(len(batch.orders))]

    @override
    def worth_adding_up(self, models: int, model_bytes: int) -> bool:
        """Large models take longer to travel than to be added up where they were trained."""
        return self._add_up_there(models, model_bytes) or super().worth_adding_up(
            models, model_bytes
        )

    def _add_up_there(self, models: int, model_bytes: int) -> bool:
        """Whether workers add up: where groups of the sum are as good as shared out evenly."""
        turns = math.ceil(math.ceil(models / GROUP) / self.side_by_side)
        even = turns * GROUP * self.side_by_side <= UNEVEN * models
        return model_bytes >= TRAVEL_BYTES and even

    @override
    def _sum(self, batch: OrderBatch, weights: Floats) -> Sum:
        """Each worker adds up groups of the sum, and only what comes of them travels."""
        places = range(len(batch.orders))
        if not weights.any() or not self._add_up_there(len(places), batch.model_bytes):
            return super()._sum(batch, weights)
        work = work_of(self.task, batch.orders)
        parts = [slice(first, first + GROUP) for first in places[::GROUP]]
        groups = [_Group(list(places[p]), sum(work[p]), weights[p]) for p in parts]
        total, results, discarded = GroupedSum(), list[WorkResult](), list[tuple[int, int]]()
        early: dict[int, Sum] = {}

        def take(group: _Group, added: Sum) -> None:
            early[group.at[0]] = added
            while (following := early.pop(len(results), None)) is not None:
                results.extend(following.results)
                discarded.extend(following.discarded)
                if following.total is not None and not discarded:
                    total.add_group(following.total)

        self._compute(batch, groups, take)
        return Sum(None if discarded else total.value(), results, discarded)

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
            self._pack.close()
        self._pack = None

    def _forget_judged(self) -> None:
        if self._judged is not None:
            self._judged[1].close()
        self._judged = None

    def _compute(
        self, batch: OrderBatch, groups: Sequence[_Group], take: Callable[[_Group, Any], None]
    ) -> None:
        """Have groups computed; `take` is handed each, or a part of it, as its answer comes."""
        try:
            with self._asking(batch):
                self._share_out(batch, groups, take)
        except BaseException:
            self._dismiss()  # whoever is still busy would answer the next call with old results
            raise

    def _share_out(
        self, batch: OrderBatch, groups: Sequence[_Group], take: Callable[[_Group, Any], None]
    ) -> None:
        self._fill()
        waiting = deque(groups)
        busy: dict[int, _Group] = {}
        while waiting or busy:
            for slot, worker in enumerate(self._pool):
                if waiting and slot not in busy:
                    busy[slot] = group = waiting.popleft()
                    group.asked_s = time.monotonic()
                    group.due_s = group.asked_s + self._patience.limit_s(group.work, group.failures)
                    worker.ask(batch.part(group.at), batch.bases, group.weights)
            for slot in self._wait_for_answers(busy):
                answer = self._pool[slot].answer()
                group = busy.pop(slot)
                if answer is not None:
                    self._patience.learn(group.work, time.monotonic() - group.asked_s)
                    take(group, answer)
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
                waiting.extendleft(group.again())

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
        return Worker(self._pack)

    def _dismiss(self) -> None:
        for worker in self._pool:
            worker.stop()
        self._pool = []
