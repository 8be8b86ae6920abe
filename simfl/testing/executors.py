"""The contract of every executor, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np

from simfl.components.coresets.random import Random
from simfl.components.models.mlp import Mlp
from simfl.core.types import Corrections, Floats, Params
from simfl.core.work import MiniBatch, OrderBatch, WorkOrder, WorkResult
from simfl.errors import RunError
from simfl.testing.contract import ComponentContract
from simfl.testing.learning import equal, orders, random_task
from simfl.training.executors.base import Executor
from simfl.training.executors.inline import Inline
from simfl.training.flat import initial_params
from simfl.training.task import Task

SIZES = (40, 7, 0, 64, 1, 33, 8, 20)


class ExecutorContract(ComponentContract):
    """What holds for every executor; inherit and set `create`."""

    create: Callable[..., Executor]

    @cached_property
    def task(self) -> Task:
        """What is learned: a small perceptron with dropout, on random data."""
        return random_task(Mlp(hidden=(6,), dropout=0.5), (5,), 4, SIZES, Random())

    @cached_property
    def params(self) -> Params:
        """The model `(p,)` that everybody starts from."""
        return initial_params(self.task.model, self.task.shape, self.task.classes, seed=1)

    @contextmanager
    def started(self, executor: Executor) -> Iterator[Executor]:
        """Start `executor` and close it in the end."""
        executor.start(self.task)
        try:
            yield executor
        finally:
            executor.close()

    def train(self, executor: Executor, corrections: Corrections | None = None) -> list[WorkResult]:
        """Return what an executor, started already, computes."""
        return executor.train(OrderBatch({0: self.params}, orders(len(SIZES)), corrections))

    def test_bits_are_those_of_one_process(self) -> None:
        """Of results, in the order asked, of corrected ones, of measurements and evaluations."""
        rng = np.random.default_rng(0)
        corrections = {
            order.key: rng.normal(size=len(self.params)).astype(np.float32)
            for order in orders(len(SIZES))
        }
        with self.started(Inline()) as inline, self.started(self.create()) as executor:
            expected = self.train(inline)
            equal(expected, self.train(executor))
            turned = executor.train(OrderBatch({0: self.params}, orders(len(SIZES))[::-1]))
            equal(expected[::-1], turned)
            assert executor.train(OrderBatch({0: self.params}, [])) == []
            equal(self.train(inline, corrections), self.train(executor, corrections))
            self.look(inline, executor)

    def test_sums_are_those_of_one_process(self) -> None:
        """Of each 16 models, then of these sums, in float64; of those that are sound."""
        asked = [
            replace(order, issue=issue, seed=order.seed + 1000 * issue)
            for order in orders(len(SIZES))
            for issue in range(5)
        ]
        nothing = {order.key: np.zeros_like(self.params) for order in asked}
        nonsense = {asked[at].key: self.params * np.float32(np.nan) for at in (17, 31)}

        def weigh(some: Sequence[WorkOrder]) -> Floats:
            return np.arange(1.0, len(some) + 1) / len(some)

        with self.started(Inline()) as inline, self.started(self.create()) as executor:
            trained = inline.train(OrderBatch({0: self.params}, asked, nothing))
            for diverging in ({}, nonsense):
                batch = OrderBatch({0: self.params}, asked, {**nothing, **diverging})
                added = executor.add_up(batch, weigh)
                sound = [r for r in trained if r.order.key not in diverging]
                weights = weigh([result.order for result in sound])
                expected = _in_groups([result.params for result in sound], weights)
                assert added.total is not None
                assert added.total.tobytes() == expected.tobytes(), "other bits"
                assert [result.order for result in added.results] == [r.order for r in sound]
                assert added.discarded == sorted(diverging)

    def look(self, inline: Executor, executor: Executor) -> None:
        """Assert that `executor` measures and evaluates what `inline` does."""
        for batch in (None, MiniBatch(4, seed=3)):
            expected = inline.measure("loss", self.params, [3, 0, 5], batch)
            measured = executor.measure("loss", self.params, [3, 0, 5], batch)
            assert np.array_equal(expected, measured, equal_nan=True), (expected, measured)
        data = self.task.data.training(range(len(SIZES)))
        evaluation = executor.evaluate(self.task, self.params, data.x, data.y)
        assert evaluation == inline.evaluate(self.task, self.params, data.x, data.y)

    def test_it_can_be_closed_twice_and_started_again(self) -> None:
        """What is closed says so when it is asked to work."""
        executor = self.create()
        for _ in range(2):
            executor.close()
            try:
                self.train(executor)
            except RunError:
                pass
            else:
                raise AssertionError("it trains although it was not started")
            with self.started(executor), self.started(Inline()) as inline:
                equal(self.train(inline), self.train(executor))


def _in_groups(models: Sequence[Params], weights: Floats) -> Floats:
    """Return `(p,)` the sum of the sums of each 16 models times their weights, in float64."""
    total = np.zeros(len(models[0]))
    for first in range(0, len(models), 16):
        group = np.zeros_like(total)
        for model, weight in zip(models[first : first + 16], weights[first:], strict=False):
            group += weight * model.astype(np.float64)
        total += group
    return total
