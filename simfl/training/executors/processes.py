"""Compute in worker processes of this machine, one thread each.

Workers (see `core.machine.processes`) get the task once, with its tensors in shared memory, and
each model version once.  Orders travel in lane-groups of about equal work; which worker computes a
group, and how orders are grouped, changes no bit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.components.aggregators.weighting import GROUP
from simfl.core.evaluation import Evaluation
from simfl.core.machine.limits import cores
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch, WorkResult
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.crew import Crew, Group, Take
from simfl.training.executors.groups import even_parts, lane_groups, parts_of_sum, work_of
from simfl.training.executors.patience import Patience
from simfl.training.executors.sharing import Packed, pack
from simfl.training.executors.sums import Adding, Sum

if TYPE_CHECKING:
    import torch

    from simfl.training.task import Task

TRAVEL_BYTES = 1 * 2**20
"""Models from here on are added up by workers."""
LEAST_TERMS = 3
"""A sum of fewer models is no smaller than they are: it is of twice as many bits."""
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
        return model_bytes >= TRAVEL_BYTES or super().worth_adding_up(models, model_bytes)

    @override
    def _sum(self, batch: OrderBatch, weights: Floats) -> Sum:
        """Each worker adds up groups of the sum, and only what comes of them travels.

        Where one is to be shared by several, who has its beginning adds that up, and the other
        models of the group travel: they are added to it here, one after the other.
        """
        if not weights.any() or batch.model_bytes < TRAVEL_BYTES:
            return super()._sum(batch, weights)
        work, places = work_of(self.task, batch.orders), range(len(batch.orders))
        groups = []
        for of in parts_of_sum(work, self.side_by_side, GROUP, UNEVEN):
            begins = of.start % GROUP == 0 and of.stop - of.start >= LEAST_TERMS
            groups.append(Group(list(places[of]), sum(work[of]), weights[of] if begins else None))
        travelling = sum(len(group.at) for group in groups if group.weights is None)
        if travelling > self._at_once(batch.model_bytes):
            return super()._sum(batch, weights)
        adding = Adding()
        waiting: dict[int, Sum | list[WorkResult]] = {}  # for what is before them, by first place

        def take(group: Group, answer: Sum | list[WorkResult]) -> None:
            waiting[group.at[0]] = answer
            while (following := waiting.pop(first := adding.count, None)) is not None:
                if isinstance(following, Sum):
                    adding.add_sum(following)
                else:
                    adding.add(following, weights[first : first + len(following)])

        self._compute(batch, groups, take)
        return adding.sum()

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
