"""Sums of models in a Ray cluster: added up where they were trained, so that they travel little."""

from collections import deque
from collections.abc import Sequence

from simfl.components.aggregators.weighting import GROUP, GroupedSum
from simfl.core.types import Floats, OrderKey
from simfl.core.work import WorkResult
from simfl.training.executors.cluster.tasks import Asked, RayTasks
from simfl.training.executors.sums import Sum


class AddingUp:
    """Models added up in the cluster, one wave of them after the other.

    A wave is several groups of the sum (`GROUP`); each is trained in lane-groups, its models stay
    where they are, and only its sum comes here.

    Args:
        tasks: of the batch.
        weights: `(r,)` what each model is multiplied by.
    """

    def __init__(self, tasks: RayTasks, weights: Floats) -> None:
        self._tasks, self._weights = tasks, weights
        self._waves: deque[list[list[Asked]]] = deque()
        self._total = GroupedSum()
        self._results: list[WorkResult] = []
        self._discarded: list[OrderKey] = []

    def ask(self, wave: Sequence[int], workers: int) -> None:
        """Have the next orders trained, in whole groups but for the last, by so many workers.

        Consecutive orders are trained on one node, so that models travel little.
        """
        size = min(max(len(wave) // workers, 1), GROUP)
        groups = [_cut(group, size) for group in _cut(wave, GROUP)]
        nodes = iter(self._tasks.nodes(sum(map(len, groups))))
        self._waves.append(
            [[self._tasks.ask(part, True, next(nodes)) for part in group] for group in groups]
        )

    def take(self) -> None:
        """Wait for the oldest wave, and add its sums up."""
        sums = deque(map(self._settle, self._waves.popleft()))
        while sums:
            asked = sums.popleft()  # and let go of its models
            if asked is not None and not self._discarded:
                self._total.add_group(self._tasks.sum_of(asked))

    def result(self) -> Sum:
        """Wait for all that was asked."""
        while self._waves:
            self.take()
        total = None if self._discarded else self._total.value()
        return Sum(total, self._results, self._discarded)

    def _settle(self, group: Sequence[Asked]) -> Asked | None:
        """Wait for the models of a group; return the task that adds them up, if any is to."""
        parts = [part for asked in group for part in self._tasks.settle(asked)]
        for result, sound in (answer for part in parts for answer in part.answer):
            self._results.append(result)
            if not sound:
                self._discarded.append(result.order.key)
        if self._discarded or not self._weights.any():
            return None
        at = [place for part in parts for place in part.at]
        models = [model for part in parts for model in part.refs[1:]]
        return self._tasks.ask_sum(at, self._weights[at], models)


def _cut(places: Sequence[int], size: int) -> list[Sequence[int]]:
    return [places[first : first + size] for first in range(0, len(places), size)]
