"""Compute in this process, and in workers beside it once training has taken long enough.

Workers that turn out to be no help, as for models that take longer to travel than to be trained,
are dismissed again.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field, PrivateAttr
from typing_extensions import override

from simfl.core.evaluation import Evaluation
from simfl.core.machine.allocator import return_freed_memory
from simfl.core.machine.limits import cores
from simfl.core.types import Floats, Params
from simfl.core.work import OrderBatch, WorkOrder, WorkResult
from simfl.errors import RunError
from simfl.training.executors.base import Executor, executors
from simfl.training.executors.inline import Inline
from simfl.training.executors.processes import Processes
from simfl.training.executors.sums import Sum

if TYPE_CHECKING:
    import torch

    from simfl.training.task import Task

_LOG = logging.getLogger(__name__)

PATIENCE_S = 5.0
"""CPU seconds spent on training alone before others are asked to help: what hiring them costs."""
WORTH_S = 0.02
"""CPU seconds that a call takes in the mean, at least, if it is to be split."""
TRIAL_S = 5.0
"""Host seconds of training with workers after which they are dismissed if it is no faster."""


_allowed: int | None = None
"""How many cores this process may use (None: all); whoever runs several tells each."""


def allow(count: int | None) -> int | None:
    """Let this process use so many cores from now on (None: all); return how many it might."""
    global _allowed
    before, _allowed = _allowed, count
    return before


@contextmanager
def sharing(count: int) -> Iterator[None]:
    """Let this process use so many cores."""
    before = allow(count)
    try:
        yield
    finally:
        allow(before)


@dataclass
class _Pace:
    """Host seconds of training, but for the first call, in which everything gets ready.

    Whether workers are a help is seen, not reckoned: what models take to travel, a sum to be made,
    and other programs on the machine are all in it.

    Attributes:
        calls: all of them.
        seconds: of those after the first.
        steps: that these made.
    """

    calls: int = 0
    seconds: float = 0.0
    steps: int = 0

    def learn(self, seconds: float, results: Iterable[WorkResult]) -> None:
        """Take note of a call that took so long, and what came of it."""
        self.calls += 1
        if self.calls > 1:
            self.seconds += seconds
            self.steps += sum(result.steps for result in results)

    def is_slower_than(self, other: "_Pace") -> bool:
        """Return whether a step took longer than one of `other`, if both are known."""
        return self.seconds * other.steps > other.seconds * self.steps


@executors.register("auto")
class Auto(Executor):
    """Train here, and on every free core too once it takes long; the results are `inline`'s."""

    workers: int | None = Field(
        None, ge=1, description="worker processes at most (default: one per free core)"
    )

    _alone: Inline = PrivateAttr(default_factory=Inline)
    _team: Processes | None = PrivateAttr(None)
    _spent_s: float = PrivateAttr(0.0)
    _calls: int = PrivateAttr(0)
    _may_hire: bool = PrivateAttr(False)
    _pace_alone: _Pace = PrivateAttr(default_factory=_Pace)
    _pace_together: _Pace = PrivateAttr(default_factory=_Pace)

    @override
    def start(self, task: "Task") -> None:
        self.close()
        super().start(task)
        self._alone.start(task)
        self._spent_s, self._calls, self._may_hire = 0.0, 0, task.device == "cpu"
        self._pace_alone, self._pace_together = _Pace(), _Pace()

    @property
    @override
    def side_by_side(self) -> int:
        return (self._team or self._alone).side_by_side

    @override
    def train(self, batch: OrderBatch) -> list[WorkResult]:
        if len(batch.orders) < 2:  # nothing to split
            return self._alone.train(batch)
        with self._timed() as (executor, results):
            results += executor.train(batch)
        return results

    @override
    def worth_adding_up(self, models: int, model_bytes: int) -> bool:
        return (self._team or self._alone).worth_adding_up(models, model_bytes)

    @override
    def add_up(self, batch: OrderBatch, weigh: Callable[[Sequence[WorkOrder]], Floats]) -> Sum:
        with self._timed() as (executor, results):
            added = executor.add_up(batch, weigh)
            results += added.results
        return added

    @override
    def evaluate(
        self, task: "Task", params: Params, x: "torch.Tensor", y: "torch.Tensor"
    ) -> "Evaluation":
        return (self._team or self._alone).evaluate(task, params, x, y)

    @override
    def close(self) -> None:
        super().close()
        self._alone.close()
        self._dismiss()

    @contextmanager
    def _timed(self) -> Iterator[tuple[Executor, list[WorkResult]]]:
        """Give who trains now, and a list for the results; note how long that took."""
        team, results = self._helpers(), list[WorkResult]()
        began, began_cpu = time.perf_counter(), time.process_time()
        yield team or self._alone, results
        pace = self._pace_alone if team is None else self._pace_together
        pace.learn(time.perf_counter() - began, results)
        if team is None:
            self._spent_s += time.process_time() - began_cpu
            self._calls += 1

    def _helpers(self) -> Processes | None:
        """Return the workers; they are hired once that pays, and again if many more may be."""
        together = self._pace_together
        if together.seconds > TRIAL_S and together.is_slower_than(self._pace_alone):
            _LOG.info("training goes on in this process alone: workers make it no faster")
            self._may_hire, self._pace_together = False, _Pace()
            self._dismiss()
        free = _allowed or cores()
        count = min(self.workers or free, free)
        hired = 1 if self._team is None else self._team.workers or 1
        worth = self._spent_s > max(PATIENCE_S, self._calls * WORTH_S)
        if self._may_hire and worth and count >= 2 * hired:
            self._hire(count)
        return self._team

    def _hire(self, count: int) -> None:
        from simfl.core.machine.processes import can_travel
        from simfl.training.executors.sharing import WithoutTensors

        self._may_hire = can_travel(self.task, WithoutTensors)
        if not self._may_hire:
            return
        self._dismiss()
        team = Processes(workers=count)
        try:
            team.start(self.task)
        except RunError as error:
            team.close()
            self._may_hire = False
            _LOG.warning("training goes on in this process alone: %s", error)
        else:
            self._team, self._pace_together = team, _Pace()
            return_freed_memory()  # they need it now

    def _dismiss(self) -> None:
        if self._team is not None:
            self._team.close()
        self._team = None
