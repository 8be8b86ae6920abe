"""Compute in worker processes of this machine, one thread each.

Workers (see `core.machine.processes`) get the task once, with its tensors in shared memory, and
each model version once.  Orders travel in lane-groups of about equal work; which worker computes a
group, and how orders are grouped, changes no bit.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.weighting import GROUP, GroupedSum
from simfl.core.evaluation import Evaluation
from simfl.core.machine.limits import cores
from simfl.core.types import Floats, OrderKey, Params
from simfl.core.work import OrderBatch, WorkResult
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.crew import Crew, Group, Take
from simfl.training.executors.groups import even_parts, lane_groups, work_of
from simfl.training.executors.patience import Patience
from simfl.training.executors.sharing import Packed, pack
from simfl.training.executors.sums import Sum

if TYPE_CHECKING:
    import torch

    from simfl.training.task import Task

TRAVEL_BYTES = 1 * 2**20
"""Models from here on are added up by workers, if that leaves none of them idle for long."""
UNEVEN = 1.3
"""How much longer the busiest worker may take for it than if models were shared out evenly."""


@executors.register("processes")
class Processes(Executor):
    """Train in several processes at once; the results are those of `inline`, byte for byte."""

    workers: int | None = Field(
        None, ge=1, description="worker processes, one thread each (default: one per core)"
    )

    _packed_task: Packed | None = PrivateAttr(None)
    _crew: Crew | None = PrivateAttr(None)
    _patience: Patience = PrivateAttr(default_factory=Patience)
    _judged_inputs: "tuple[torch.Tensor, Packed] | None" = PrivateAttr(None)
    """What was evaluated on last, `(n, ...)`, and how workers are sent it."""

    @override
    def start(self, task: "Task") -> None:
        import torch

        self.close()
        torch.set_num_threads(1)
        super().start(task)
        self._packed_task = pack(task)
        self._crew = Crew(self._packed_task, self._patience)
        self._crew.fill(self.side_by_side)

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
            Group(at, sum(work[place] for place in at))
            for at in lane_groups(work, self.side_by_side)
        ]
        by_place: dict[int, WorkResult] = {}

        def take(group: Group, results: list[WorkResult]) -> None:
            by_place.update(zip(group.at, results, strict=True))

        self._compute(batch, groups, take)
        return [by_place[at] for at in range(len(batch.orders))]

    @override
    def worth_adding_up(self, models: int, model_bytes: int) -> bool:
        """Large models take longer to travel than to be added up where they were trained."""
        return self._workers_add_up(models, model_bytes) or super().worth_adding_up(
            models, model_bytes
        )

    def _workers_add_up(self, models: int, model_bytes: int) -> bool:
        """Whether workers add up: large models, whose sum's groups share out about evenly."""
        groups = math.ceil(models / GROUP)
        of_busiest = math.ceil(groups / self.side_by_side) * GROUP
        return model_bytes >= TRAVEL_BYTES and of_busiest * self.side_by_side <= UNEVEN * models

    @override
    def _sum(self, batch: OrderBatch, weights: Floats) -> Sum:
        """Each worker adds up groups of the sum, and only what comes of them travels."""
        places = range(len(batch.orders))
        if not weights.any() or not self._workers_add_up(len(places), batch.model_bytes):
            return super()._sum(batch, weights)
        work = work_of(self.task, batch.orders)
        terms = [slice(first, first + GROUP) for first in places[::GROUP]]
        groups = [Group(list(places[of]), sum(work[of]), weights[of]) for of in terms]
        total, results, discarded = GroupedSum(), list[WorkResult](), list[OrderKey]()
        waiting: dict[int, Sum] = {}  # for groups before them; by the first place in the batch

        def take(group: Group, added: Sum) -> None:
            waiting[group.at[0]] = added
            while (following := waiting.pop(len(results), None)) is not None:
                results.extend(following.results)
                discarded.extend(following.discarded)
                if following.total is not None and not discarded:
                    total.add_group(following.total.astype(np.float64, copy=False))

        self._compute(batch, groups, take)
        return Sum(None if discarded else total.value(), results, discarded)

    @override
    def evaluate(
        self, task: "Task", params: Params, x: "torch.Tensor", y: "torch.Tensor"
    ) -> "Evaluation":
        """The inputs are shared once, then each worker takes a part."""
        import torch

        from simfl.training.evaluate import BATCH, judge, logits_of

        crew = self._crew
        parts = even_parts(len(x), 0 if crew is None else len(crew), BATCH)
        if crew is None or len(parts) < 2:
            return super().evaluate(task, params, x, y)
        if self._judged_inputs is None or self._judged_inputs[0] is not x:
            self._forget_judged_inputs()
            self._judged_inputs = x, pack((task.without_data(), x))
        answers = crew.logits(self._judged_inputs[1], params, parts)
        logits = [
            # The part of a dead worker is done here; the next training replaces it.
            logits_of(task, params, x, part) if answer is None else torch.from_numpy(answer)
            for answer, part in zip(answers, parts, strict=True)
        ]
        return judge(task, torch.cat([part.cpu() for part in logits]), y)

    @override
    def close(self) -> None:
        super().close()
        if self._crew is not None:
            self._crew.dismiss()
        self._crew = None
        self._forget_judged_inputs()
        if self._packed_task is not None:
            self._packed_task.close()
        self._packed_task = None

    def _forget_judged_inputs(self) -> None:
        if self._judged_inputs is not None:
            self._judged_inputs[1].close()
        self._judged_inputs = None

    def _compute(self, batch: OrderBatch, groups: Sequence[Group], take: Take) -> None:
        assert self._crew is not None
        with self._asking(batch):
            self._crew.compute(batch, groups, take, self.side_by_side)
